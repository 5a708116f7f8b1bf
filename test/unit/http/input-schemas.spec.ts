import * as fc from 'fast-check';
import {
  fields,
  newAttemptSchema,
  newDeadlineSchema,
  newOrderSchema,
  reportedPaymentSchema,
} from '../../../src/orders/input';
import { type InputProblem } from '../../../src/orders/input/fields';
import { COMMAND_SCHEMAS, REQUEST_SCHEMAS } from '../../../src/api/amqp/judge-command';
import { newOrdersSchema, parseInput, RequestRejectedError } from '../../../src/api/input';
import { type z } from 'zod';

const order = {
  id: 'o-1',
  amount: 1,
  currency: 'EUR',
  lines: [{ sku: 'Äpfel 1kg', quantity: 1, unitAmount: 0 }],
};

function problemsOf(schema: z.ZodType, input: unknown): InputProblem[] {
  try {
    parseInput(schema, input);
  } catch (error) {
    if (error instanceof RequestRejectedError) return error.details.errors as InputProblem[];
    throw error;
  }
  return [];
}

const pathsOf = (schema: z.ZodType, input: unknown): string[] => problemsOf(schema, input).map(({ path }) => path);

describe('input schemas', () => {
  it('transform an order to the input of the use case', () => {
    const parsed = parseInput(newOrderSchema, {
      ...order,
      expiresAt: '2030-01-01T02:00:00+02:00',
      attempt: { provider: 'alipay', reference: 'r', amount: 5 },
      metadata: { a: [1, { b: null }] },
    });
    expect(parsed).toEqual({
      ...order,
      amount: 1n,
      lines: [{ sku: 'Äpfel 1kg', quantity: 1, unitAmount: 0n }],
      expiresAt: new Date('2030-01-01T00:00:00Z'),
      attempt: { provider: 'alipay', reference: 'r', amount: 5n },
      metadata: { a: [1, { b: null }] },
    });
  });

  it('accept every amount that JSON represents exactly', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (amount) => {
        expect(parseInput(fields.amount, amount)).toBe(BigInt(amount));
      }),
    );
  });

  it.each([0, -1, 0.5, Number.MAX_SAFE_INTEGER + 1, 1e300, NaN, '5', null, true, [1]])(
    'reject %p as an amount',
    (amount) => {
      expect(problemsOf(newOrderSchema, { ...order, amount })).toEqual([
        { path: 'amount', message: 'must be an integer from 1 to 9007199254740991, in minor units such as cents' },
      ]);
    },
  );

  it.each([
    ['id', ''],
    ['id', 'x'.repeat(65)],
    ['id', 'a/b'],
    ['id', 7],
    ['merchantId', 'ä'],
    ['currency', 'eur'],
    ['currency', 'EURO'],
    ['paymentWindowMs', -1],
    ['paymentWindowMs', 315_360_000_001],
    ['expiresAt', 'tomorrow'],
    ['expiresAt', '2030-01-01T00:00:00'],
    ['expiresAt', '2030-02-30T00:00:00Z'],
    ['expiresAt', '0001-01-01T00:00:00Z'],
    ['graceMs', 2 ** 31],
    ['reminderOffsetsMs', Array(11).fill(1)],
    ['lines', 'none'],
    ['lines', Array(101).fill(order.lines[0])],
    ['autoClose', 'yes'],
    ['metadata', []],
    ['metadata', { note: 'x'.repeat(9_000) }],
    ['metadata', { note: 'NUL \0' }],
    ['metadata', { '\ud800': 1 }],
    ['metadata', JSON.parse('{"a":'.repeat(20) + '1' + '}'.repeat(20)) as unknown],
    ['attempt', 'alipay'],
    ['colour', 'red'],
  ])('reject an order whose %s is %j', (field, value) => {
    expect(pathsOf(newOrderSchema, { ...order, [field]: value })).toEqual([field]);
  });

  it('reject control characters and lone surrogates in every text', () => {
    for (const text of ['a\0b', 'a\nb', '\ud800', '']) {
      expect(pathsOf(fields.sku, text)).toEqual(['']);
      expect(pathsOf(fields.reason, text)).toEqual(['']);
    }
    expect(parseInput(fields.reason, 'grün 😀')).toBe('grün 😀');
  });

  it.each(['.', '..'])('reject the SKU %s everywhere, because no URL can name it', (sku) => {
    expect(pathsOf(newOrderSchema, { ...order, lines: [{ ...order.lines[0], sku }] })).toEqual(['lines.0.sku']);
    expect(pathsOf(COMMAND_SCHEMAS['stock.changed'], { sku, add: 1 })).toEqual(['sku']);
    expect(pathsOf(REQUEST_SCHEMAS['stock.read'], { sku })).toEqual(['sku']);
    expect(problemsOf(fields.sku, sku)[0]?.message).toContain('but not "." or ".."');
  });

  it.each(['...', '.a', '..a', 'a.', '😀', `..${'ü'.repeat(126)}`])('accept the SKU %s', (sku) => {
    expect(parseInput(fields.sku, sku)).toBe(sku);
    expect(pathsOf(fields.sku, `${sku.padEnd(128, 'x')}xx`)).toEqual(['']);
  });

  it('report what is missing', () => {
    expect(problemsOf(newAttemptSchema, { provider: 'p' })).toEqual([
      { path: 'reference', message: expect.stringMatching(/^is missing; it must be text of 1 to 255/) as unknown },
    ]);
    expect(problemsOf(newOrderSchema, undefined)[0]?.message).toContain('content-type application/json');
  });

  it('accept a payment window or a deadline for an order, not both', () => {
    const both = { ...order, paymentWindowMs: 1, expiresAt: '2030-01-01T00:00:00Z' };
    expect(problemsOf(newOrderSchema, both)).toEqual([
      { path: 'expiresAt', message: 'give either expiresAt or paymentWindowMs, not both' },
    ]);
  });

  it('accept exactly one of a time and an extension for a new deadline', () => {
    expect(pathsOf(newDeadlineSchema, {})).toEqual(['expiresAt']);
    expect(pathsOf(newDeadlineSchema, { byMs: 1, expiresAt: '2030-01-01T00:00:00Z' })).toEqual(['expiresAt']);
    expect(parseInput(newDeadlineSchema, { byMs: -5 })).toEqual({ byMs: -5 });
  });

  it('report the position of each problem in a bulk request, at most fifty', () => {
    const orders = Array.from({ length: 60 }, () => ({ ...order, amount: 0 }));
    const paths = pathsOf(newOrdersSchema, { orders });
    expect(paths).toHaveLength(50);
    expect(paths[3]).toBe('orders.3.amount');
    expect(pathsOf(newOrdersSchema, { orders: Array(1_001).fill(order) })).toEqual(['orders']);
  });

  it('throw only rejections, for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        for (const schema of [newOrderSchema, reportedPaymentSchema, newDeadlineSchema]) problemsOf(schema, input);
      }),
    );
  });
});

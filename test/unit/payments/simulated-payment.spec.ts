import fc from 'fast-check';
import { SimulatedPayment } from '../../../src/testing/payment-simulator/simulated-payment';
import { paymentInput, type PaymentInput } from '../../../src/testing/payment-simulator/simulator-input';

const CREATED = Date.UTC(2026, 0, 1);

function payment(input: Partial<PaymentInput> = {}) {
  const paid: SimulatedPayment[] = [];
  const terms = paymentInput.parse({ reference: 'r', amount: 100, currency: 'EUR', ...input });
  const one = new SimulatedPayment(terms, CREATED, { paid: (each) => paid.push(each), planned: () => undefined });
  return { one, paid };
}

describe('SimulatedPayment', () => {
  it('refuses the buyer once the shop has closed, and counts it', () => {
    const { one, paid } = payment();
    expect(one.close(CREATED + 10)).toBe('CLOSED');
    expect(one.pay(CREATED + 20)).toBe('refused');
    expect(one.close(CREATED + 30)).toBe('ALREADY_CLOSED');
    expect(one.entry(CREATED + 40)).toMatchObject({
      status: 'CLOSED',
      winner: 'shop',
      refusedPays: 1,
      closes: 2,
      paidAt: null,
    });
    expect(paid).toEqual([]);
  });

  it('lets a scripted buyer pay at his own instant, however late somebody looks', () => {
    const { one, paid } = payment({ script: { buyer: 'pays-after', ms: 100 } });
    expect(one.query(CREATED + 99)).toBe('OPEN');
    expect(one.close(CREATED + 100)).toBe('PAID');
    expect(one.entry(CREATED + 5_000)).toMatchObject({
      status: 'PAID',
      winner: 'buyer',
      paidAt: new Date(CREATED + 100).toISOString(),
    });
    expect(paid).toHaveLength(1);
  });

  it('lets a buyer pay between the query and the close', () => {
    const { one } = payment({ script: { buyer: 'pays-after-query', nth: 2 } });
    expect(one.query(CREATED + 1)).toBe('OPEN');
    expect(one.query(CREATED + 2)).toBe('OPEN');
    expect(one.close(CREATED + 2)).toBe('PAID');
  });

  it('cannot be closed while the payment is being processed', () => {
    const { one } = payment({ script: { buyer: 'pays-after', ms: 10, processingMs: 50 } });
    expect(one.query(CREATED + 10)).toBe('PROCESSING');
    expect(one.close(CREATED + 59)).toBe('IN_PROGRESS');
    expect(one.close(CREATED + 60)).toBe('PAID');
  });

  it('refuses the buyer after timeExpire but stays open until it is closed', () => {
    const { one } = payment({ timeExpire: CREATED + 100 });
    expect(one.pay(CREATED + 100)).toBe('refused');
    expect(one.query(CREATED + 101)).toBe('OPEN');
    expect(one.close(CREATED + 102)).toBe('CLOSED');
  });

  it.each([
    ['a deadline and its default 100 ms', { buyer: 'pays-before-deadline', deadline: CREATED + 1_000 }, 900],
    ['a negative lead, so too late', { buyer: 'pays-before-deadline', deadline: CREATED + 1_000, byMs: -50 }, 1_050],
    ['an ISO instant', { buyer: 'pays-at', at: new Date(CREATED + 70).toISOString() }, 70],
  ] as const)('plans the buyer by %s', (_, script, after) => {
    expect(payment({ script }).one.nextEventAt).toBe(CREATED + after);
  });

  it('is either charged or closed, never both, in whatever order and at whatever time things happen', () => {
    const step = fc.record({ act: fc.constantFrom('query', 'close', 'pay', 'entry' as const), pause: fc.nat(40) });
    const script = fc.oneof(
      fc.constant({ buyer: 'never' } as const),
      fc.record({ buyer: fc.constant('pays-after' as const), ms: fc.nat(200), processingMs: fc.nat(50) }),
      fc.record({ buyer: fc.constant('pays-after-query' as const), nth: fc.integer({ min: 1, max: 3 }) }),
    );
    fc.assert(
      fc.property(script, fc.array(step, { maxLength: 15 }), (buyer, steps) => {
        const { one, paid } = payment({ script: buyer });
        let now = CREATED;
        let closedByAnswer = false;
        for (const { act, pause } of steps) {
          now += pause;
          const answer = one[act](now);
          closedByAnswer ||= answer === 'CLOSED';
        }
        const { paidAt, closedAt } = one.entry(now + 10_000);
        expect(paid).toHaveLength(paidAt === null ? 0 : 1);
        expect(closedAt !== null).toBe(closedByAnswer);
        expect(paidAt !== null && closedAt !== null).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

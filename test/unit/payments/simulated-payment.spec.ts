import fc from 'fast-check';
import { SimulatedPayment } from '../../../packages/payment-simulator/src/simulated-payment';
import { paymentInput, type PaymentInput } from '../../../packages/payment-simulator/src/simulator-input';

const CREATED = Date.UTC(2026, 0, 1);

function payment(input: Partial<PaymentInput> = {}) {
  const events: string[] = [];
  const terms = paymentInput.parse({ reference: 'r', amount: 100, currency: 'EUR', ...input });
  const one = new SimulatedPayment(terms, CREATED, {
    happened: (_, event) => events.push(event),
    planned: () => undefined,
  });
  return { one, events };
}

describe('SimulatedPayment', () => {
  it('refuses the buyer after the shop has closed it, and counts that', () => {
    const { one, events } = payment();
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
    expect(events).toEqual(['closed']);
  });

  it('lets a scripted buyer pay at the scripted time, however late the payment is read', () => {
    const { one, events } = payment({ script: { buyer: 'pays-after', ms: 100 } });
    expect(one.query(CREATED + 99)).toBe('OPEN');
    expect(one.close(CREATED + 100)).toBe('PAID');
    expect(one.entry(CREATED + 5_000)).toMatchObject({
      status: 'PAID',
      winner: 'buyer',
      paidAt: new Date(CREATED + 100).toISOString(),
    });
    expect(events).toEqual(['paid']);
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

  it('does not exist before the buyer scans it, and an earlier close does not prevent payment', () => {
    const { one } = payment({ existsFrom: 'scan' });
    expect(one.query(CREATED)).toBe('NOT_FOUND');
    expect(one.close(CREATED + 1)).toBe('NOT_FOUND');
    one.scan(CREATED + 2);
    expect(one.query(CREATED + 3)).toBe('OPEN');
    expect(one.entry(CREATED + 3)).toMatchObject({ scannedAt: new Date(CREATED + 2).toISOString() });
    expect(one.pay(CREATED + 4)).toBe('accepted');
  });

  it('is scanned by paying it, but not after timeExpire', () => {
    const early = payment({ existsFrom: 'scan', timeExpire: CREATED + 10 }).one;
    expect(early.pay(CREATED + 9)).toBe('accepted');
    const late = payment({ existsFrom: 'scan', timeExpire: CREATED + 10 }).one;
    expect(late.pay(CREATED + 10)).toBe('refused');
    expect(late.query(CREATED + 11)).toBe('NOT_FOUND');
  });

  it('lets a buyer scan, wait, and pay', () => {
    const { one } = payment({ existsFrom: 'scan', script: { buyer: 'scans-then-pays', scanMs: 10, payMs: 5 } });
    expect([9, 10, 14, 15].map((ms) => one.query(CREATED + ms))).toEqual(['NOT_FOUND', 'OPEN', 'OPEN', 'PAID']);
    const looker = payment({ existsFrom: 'scan', script: { buyer: 'scans-after', ms: 10 } }).one;
    expect([9, 10, 9_000].map((ms) => looker.query(CREATED + ms))).toEqual(['NOT_FOUND', 'OPEN', 'OPEN']);
  });

  it('returns CLOSED early if a lag is scripted, and a buyer who pays during the lag wins', () => {
    const unpaid = payment({ closeLagMs: 100 });
    expect(unpaid.one.close(CREATED)).toBe('CLOSED');
    expect(unpaid.one.query(CREATED + 99)).toBe('OPEN');
    expect(unpaid.one.close(CREATED + 99)).toBe('CLOSED');
    expect(unpaid.one.query(CREATED + 100)).toBe('CLOSED');
    expect(unpaid.one.pay(CREATED + 101)).toBe('refused');
    const paid = payment({ closeLagMs: 100, script: { buyer: 'pays-after-close', ms: 99 } });
    expect(paid.one.close(CREATED)).toBe('CLOSED');
    expect(paid.one.query(CREATED + 100)).toBe('PAID');
    expect(paid.events).toEqual(['paid']);
  });

  it('accepts money after a scripted false close', () => {
    const { one, events } = payment({ closeLies: true, script: { buyer: 'pays-after-close', ms: 50 } });
    expect(one.close(CREATED)).toBe('CLOSED');
    expect(one.query(CREATED + 49)).toBe('CLOSED');
    expect(one.query(CREATED + 50)).toBe('PAID');
    expect(events).toEqual(['closed', 'paid']);
  });

  it('refuses a buyer who comes after a real close', () => {
    const { one } = payment({ script: { buyer: 'pays-after-close', ms: 50 } });
    expect(one.close(CREATED)).toBe('CLOSED');
    expect(one.entry(CREATED + 50)).toMatchObject({ status: 'CLOSED', refusedPays: 1 });
  });

  it('accepts another script at any time, and its waits start then', () => {
    const { one } = payment({ script: { buyer: 'pays-after', ms: 10 } });
    one.rescript(CREATED + 5, { script: { buyer: 'pays-after', ms: 10, processingMs: 0, authorizes: false } });
    expect(one.query(CREATED + 14)).toBe('OPEN');
    expect(one.query(CREATED + 15)).toBe('PAID');
    one.rescript(CREATED + 16, { partialAmount: 1n });
    expect(one.entry(CREATED + 16)).toMatchObject({ paidAmount: '100' });
  });

  it('is either charged or closed, never both, for any order and timing of events', () => {
    const step = fc.record({ act: fc.constantFrom('query', 'close', 'pay', 'entry' as const), pause: fc.nat(40) });
    const script = fc.oneof(
      fc.constant({ buyer: 'never' } as const),
      fc.record({ buyer: fc.constant('pays-after' as const), ms: fc.nat(200), processingMs: fc.nat(50) }),
      fc.record({ buyer: fc.constant('pays-after-query' as const), nth: fc.integer({ min: 1, max: 3 }) }),
    );
    fc.assert(
      fc.property(script, fc.array(step, { maxLength: 15 }), (buyer, steps) => {
        const { one, events } = payment({ script: buyer });
        let now = CREATED;
        let closedByAnswer = false;
        for (const { act, pause } of steps) {
          now += pause;
          const answer = one[act](now);
          closedByAnswer ||= answer === 'CLOSED';
        }
        const { paidAt, closedAt } = one.entry(now + 10_000);
        expect(events.filter((event) => event === 'paid')).toHaveLength(paidAt === null ? 0 : 1);
        expect(closedAt !== null).toBe(closedByAnswer);
        expect(paidAt !== null && closedAt !== null).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

import { BUSY_ACCOUNT, type PlannedPayment, type Scenario } from '../scenario';

/** As many attempts as an order takes by default. */
const DEFAULT_LIMIT = 50;
/** Asked all at once, so many are more than Stripe's default rate lets through in one round. */
const MANY = 120;
/** From the deadline: three calls for each of them, 20 a second, and as much again. */
const CLOSED_WITHIN_MS = 40_000;

/** Payments that are registered, and about which nothing happens. */
function unpaid(count: number, more: PlannedPayment = {}): PlannedPayment[] {
  return Array.from({ length: count }, () => ({ isIntent: true, notify: 'none', ...more }) as const);
}

/** Equal references, and more of them than usual. */
export const MANY_PAYMENTS: readonly Scenario[] = [
  {
    name: 'merchants-number-alike',
    says: 'orders of two merchants are paid by one reference each knows, before either registers it',
    providers: ['alipay', 'wechat-pay'],
    plan: () => ({
      windowMs: 40_000,
      ends: { status: ['PAID'], unmatched: ['unknown-order/adopted'] },
      payments: [{ registers: 'later' }],
      act: async (cast) => {
        await cast.pay(0);
        await cast.untilKept(0);
        await cast.placeTwin({
          windowMs: 20_000,
          ends: { status: ['PAID'], unmatched: ['unknown-order/adopted'] },
          payments: [{ registers: 'later' }],
          act: async (twin) => {
            await twin.pay(0);
            await twin.untilKept(0);
            await cast.untilKept(0);
            await twin.register(0);
            await twin.untilStatus('PAID');
          },
        });
        await cast.untilKept(0);
        await cast.register(0);
        await cast.untilStatus('PAID');
      },
    }),
  },
  {
    name: 'many-attempts',
    says: `${MANY} attempts at a provider with its default rate limit: the order closes within ${CLOSED_WITHIN_MS / 1_000} s`,
    providers: ['stripe'],
    most: 1,
    plan: () => ({
      windowMs: 20_000,
      merchantId: 'shop-patient',
      ends: { status: ['CLOSED'], attempts: Array.from({ length: MANY }, () => 'CLOSED') },
      payments: unpaid(MANY, { account: BUSY_ACCOUNT }),
      act: async (cast) => {
        await cast.untilStatus('CLOSING');
        const beganAt = Date.now();
        await cast.untilStatus('CLOSED');
        const tookMs = Date.now() - beganAt;
        if (tookMs > CLOSED_WITHIN_MS) throw new Error(`closing took ${tookMs} ms`);
      },
    }),
  },
  {
    name: 'too-many-attempts',
    says: `attempt ${DEFAULT_LIMIT + 1} of an order is refused`,
    most: 1,
    plan: () => ({
      windowMs: 15_000,
      ends: { status: ['CLOSED'], attempts: Array.from({ length: DEFAULT_LIMIT }, () => 'CLOSED') },
      payments: [...unpaid(DEFAULT_LIMIT, { account: BUSY_ACCOUNT }), { registers: 'later', account: BUSY_ACCOUNT }],
      act: async (cast) => {
        const code = await cast.refusalOf(DEFAULT_LIMIT);
        if (code !== 'TOO_MANY_ATTEMPTS') throw new Error(`the attempt was ${code ?? 'taken'}`);
      },
    }),
  },
];

import { type Random } from '../../support/buyers/random';
import { type PlannedPayment, type ProviderName, type Scenario } from '../scenario';

const PAID = { status: ['PAID'] } as const;

/** As a shop does it: Alipay and WeChat Pay get the deadline as their time limit, Stripe's intents have none. */
export function withLimit(provider: ProviderName, windowMs: number): Pick<PlannedPayment, 'expiresAfterMs'> {
  return provider === 'stripe' ? {} : { expiresAfterMs: windowMs };
}

const windowOf = (random: Random): number => random.between(2_500, 4_500);

/** The buyer pays before the deadline, and the money is noticed whatever happens to the notification. */
export const IN_TIME: readonly Scenario[] = [
  {
    name: 'pays-in-time',
    says: 'the buyer pays, the provider says so',
    plan: (random, provider) => {
      const windowMs = windowOf(random);
      const ms = random.between(200, windowMs - 500);
      return {
        windowMs,
        ends: PAID,
        payments: [{ script: { buyer: 'pays-after', ms }, ...withLimit(provider, windowMs) }],
      };
    },
  },
  {
    name: 'notify-lost',
    says: 'the buyer pays, the notification is lost; found at the deadline',
    plan: (random, provider) => {
      const windowMs = windowOf(random);
      const script = { buyer: 'pays-after', ms: random.between(200, windowMs - 500) } as const;
      return { windowMs, ends: PAID, payments: [{ script, notify: { lost: true }, ...withLimit(provider, windowMs) }] };
    },
  },
  {
    name: 'notify-thrice',
    says: 'the provider tells it three times',
    plan: (random, provider) => {
      const windowMs = windowOf(random);
      const script = { buyer: 'pays-after', ms: random.between(200, windowMs - 500) } as const;
      return { windowMs, ends: PAID, payments: [{ script, notify: { times: 3 }, ...withLimit(provider, windowMs) }] };
    },
  },
  {
    name: 'notify-before-registering',
    says: 'the notification comes before the shop registers the attempt',
    plan: (random) => ({
      windowMs: 6_000,
      ends: { ...PAID, unmatched: ['unknown-order/adopted'] },
      payments: [{ script: { buyer: 'pays-after', ms: random.between(100, 500) }, registers: 'later' }],
      act: async (cast) => {
        await cast.untilLedger(0, 'a notification that was taken', ({ notifications }) => notifications.sent > 0);
        await cast.register(0);
      },
    }),
  },
  {
    name: 'last-second',
    says: 'the buyer pays in the last second, the notification races with the deadline',
    plan: (random, provider) => {
      const windowMs = windowOf(random);
      const script = { buyer: 'pays-after', ms: windowMs - random.between(20, 900) } as const;
      const notify = { delayMs: random.between(0, 900) };
      return { windowMs, ends: PAID, payments: [{ script, notify, ...withLimit(provider, windowMs) }] };
    },
  },
  {
    name: 'pays-between-query-and-close',
    says: 'the buyer pays right after the service has asked, before it closes; no notification comes',
    plan: (random) => ({
      windowMs: windowOf(random),
      ends: PAID,
      payments: [{ script: { buyer: 'pays-after-query' }, notify: { lost: true } }],
    }),
  },
  {
    name: 'processing-then-paid',
    says: 'the payment is on its way at the deadline',
    plan: (random) => {
      const windowMs = windowOf(random);
      const script = { buyer: 'pays-after', ms: windowMs - 500, processingMs: random.between(2_000, 6_000) } as const;
      const notify = { lost: random.next() < 0.5 };
      return { windowMs, ends: PAID, payments: [{ script, notify }] };
    },
  },
  {
    name: 'close-refused-while-paying',
    says: 'the close is refused (FREQUENCY_LIMITED), as the buyer types his password; then he has paid',
    providers: ['wechat-pay', 'alipay'],
    plan: (random) => ({
      windowMs: windowOf(random),
      ends: PAID,
      payments: [
        {
          script: { buyer: 'pays-after-query', processingMs: random.between(1_000, 3_000) },
          faults: [{ fault: 'rate-limited', on: 'close', times: 1 }],
          notify: { lost: true },
        },
      ],
    }),
  },
  {
    name: 'extended-then-paid',
    says: 'the deadline is extended, the buyer pays after the first one',
    plan: (random) => ({
      windowMs: 3_000,
      ends: PAID,
      payments: [
        {
          script: { buyer: 'pays-after', ms: random.between(3_500, 5_000) },
          expiresAfterMs: 8_000,
          notify: { lost: random.next() < 0.5 },
        },
      ],
      act: async (cast) => {
        await cast.at(random.between(300, 1_500));
        await cast.extend(3_000);
      },
    }),
  },
  {
    name: 'scanned-after-not-found',
    says: 'unknown to the provider at the deadline; then scanned and paid before its time limit',
    providers: ['alipay', 'wechat-pay'],
    isLong: true,
    plan: (random) => ({
      windowMs: 2_500,
      ends: PAID,
      payments: [{ existsFrom: 'scan', expiresAfterMs: 20_000, notify: { lost: random.next() < 0.5 } }],
      act: async (cast) => {
        await cast.untilLedger(0, 'question', ({ queries }) => queries > 0);
        await cast.pay(0);
      },
    }),
  },
];

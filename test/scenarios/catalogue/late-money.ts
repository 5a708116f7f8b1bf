import { type Random } from '../../support/buyers/random';
import { type Ending, type Plan, type PlannedPayment, type Scenario } from '../scenario';

const WINDOW_MS = 2_500;
const REFUNDED: Ending = { status: ['CLOSED_REFUNDED'], refunds: 1 };

/** The close says yes, and yet the buyer can pay, once the order is closed. */
function paysLate(random: Random, more: Partial<PlannedPayment> = {}): Pick<Plan, 'payments' | 'act'> {
  const ms = random.between(0, 3_000);
  return {
    payments: [{ closeLies: true, ...more }],
    act: async (cast) => {
      await cast.untilStatus('CLOSED');
      await cast.after(ms);
      await cast.pay(0);
    },
  };
}

function lateAtRefundingShop(random: Random, more: Partial<PlannedPayment>): Plan {
  return { windowMs: WINDOW_MS, merchantId: 'shop-refund', ends: REFUNDED, ...paysLate(random, more) };
}

/** Money that arrives after the end: the order is revived, or the money goes back, exactly once. */
export const LATE_MONEY: readonly Scenario[] = [
  {
    name: 'late-revived',
    says: 'the close lied, the buyer pays late; the goods are still there',
    plan: (random) => ({ windowMs: WINDOW_MS, ends: { status: ['PAID'] }, ...paysLate(random) }),
  },
  {
    name: 'late-found-by-watch',
    says: 'the same, and the notification is lost: the watch finds it',
    plan: (random) => ({
      windowMs: WINDOW_MS,
      ends: { status: ['PAID'] },
      ...paysLate(random, { notify: { lost: true } }),
    }),
  },
  {
    name: 'notify-reordered',
    says: 'the buyer pays right after a close that lied; "paid" arrives before "closed"',
    plan: () => ({
      windowMs: WINDOW_MS,
      ends: { status: ['PAID'] },
      payments: [
        { closeLies: true, script: { buyer: 'pays-after-close', ms: 20 }, notify: { reorder: true, times: 2 } },
      ],
    }),
  },
  {
    name: 'pays-while-closing',
    says: 'the close takes effect 3 s later, and the buyer pays before that',
    plan: (random) => ({
      windowMs: WINDOW_MS,
      ends: { status: ['PAID'] },
      payments: [
        {
          closeLagMs: 3_000,
          script: { buyer: 'pays-after-close', ms: random.between(100, 2_500) },
          notify: { lost: random.next() < 0.5 },
        },
      ],
    }),
  },
  {
    name: 'late-stock-sold',
    says: 'the buyer pays late, and somebody else has the last piece',
    plan: (random) => ({
      windowMs: WINDOW_MS,
      ends: REFUNDED,
      isLastPiece: true,
      payments: [{ closeLies: true }],
      act: async (cast) => {
        await cast.untilStatus('CLOSED');
        const script = { buyer: 'pays-after', ms: random.between(100, 500) } as const;
        await cast.placeRival({ windowMs: 5_000, ends: { status: ['PAID'] }, payments: [{ script }] });
        await cast.pay(0);
      },
    }),
  },
  {
    name: 'late-goes-back',
    says: 'the buyer pays late at a shop that refunds late payments',
    plan: (random) => lateAtRefundingShop(random, {}),
  },
  {
    name: 'late-for-cancelled',
    says: 'the buyer cancels, and pays nevertheless',
    plan: (random) => ({
      windowMs: 4_000,
      ends: REFUNDED,
      payments: [{ closeLies: true }],
      act: async (cast) => {
        await cast.at(random.between(200, 1_500));
        await cast.cancel();
        await cast.untilStatus('CANCELLED');
        await cast.pay(0);
      },
    }),
  },
  {
    name: 'refund-rejected-twice',
    says: 'the provider rejects the refund twice',
    plan: (random) => lateAtRefundingShop(random, { rejectRefunds: 2 }),
  },
  {
    name: 'refund-given-up',
    says: 'the provider rejects the refund until it is parked; an operator fills the account and replays it',
    isLong: true,
    plan: () => ({
      windowMs: WINDOW_MS,
      merchantId: 'shop-refund',
      ends: REFUNDED,
      payments: [{ closeLies: true, rejectRefunds: 5 }],
      act: async (cast) => {
        await cast.untilStatus('CLOSED');
        await cast.pay(0);
        await cast.untilParked();
        await cast.replayParked();
      },
    }),
  },
  {
    name: 'refund-pending',
    says: 'the refund takes 3 s at the provider',
    plan: (random) => lateAtRefundingShop(random, { refundProcessingMs: 3_000 }),
  },
  {
    name: 'refund-response-lost',
    says: 'the refund is done, the answer is lost',
    plan: (random) => lateAtRefundingShop(random, { faults: [{ fault: 'lost-response', on: 'refund', times: 1 }] }),
  },
  {
    name: 'refund-answers-500',
    says: 'the first two calls for the refund fail',
    plan: (random) =>
      lateAtRefundingShop(random, { faults: [{ fault: 'error', status: 500, on: 'refund', times: 2 }] }),
  },
  {
    name: 'refund-while-down',
    says: 'the provider is down for 10 s when the money is to go back',
    plan: (random) =>
      lateAtRefundingShop(random, {
        faults: [{ fault: 'error', status: 503, on: 'refund', forMs: 15_000 }],
      }),
  },
];

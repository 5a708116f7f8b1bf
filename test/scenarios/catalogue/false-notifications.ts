import { type Scenario } from '../scenario';
import { untilPaidInTime } from './until-paid-in-time';

/** Notifications that are not true, not ours, or not new. None of them may change an order. */
export const FALSE_NOTIFICATIONS: readonly Scenario[] = [
  {
    name: 'hand-made-notification',
    says: 'the control: what the forgeries are made of is taken when its signature and its age are right',
    plan: () => ({
      windowMs: 20_000,
      ends: { status: ['PAID'] },
      payments: [{ script: { buyer: 'pays-after', ms: 300 }, notify: 'none', isIntent: true }],
      act: async (cast) => {
        await cast.untilLedger(0, 'payment', ({ paidAt }) => paidAt !== null);
        if (!(await cast.postByHand(0, 'none'))) throw new Error('the service refused a true notification');
        await untilPaidInTime(cast);
      },
    }),
  },
  {
    name: 'forged-notification',
    says: 'somebody posts "paid" with a wrong signature',
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED'], forgeries: 2 },
      payments: [{ isIntent: true }],
      act: async (cast) => {
        await cast.at(random.between(100, 1_500));
        await cast.postByHand(0, 'wrong-signature');
        await cast.untilStatus('CLOSED');
        await cast.postByHand(0, 'wrong-signature');
      },
    }),
  },
  {
    name: 'forged-before-true',
    says: 'two forged copies arrive before the true one',
    plan: (random) => ({
      windowMs: 3_000,
      ends: { status: ['PAID'], forgeries: 2 },
      payments: [{ script: { buyer: 'pays-after', ms: random.between(300, 2_000) }, notify: { forged: 2 } }],
    }),
  },
  {
    name: 'old-notification',
    says: 'a notification that is signed correctly arrives an hour late',
    providers: ['wechat-pay', 'stripe'],
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED'], forgeries: 1 },
      payments: [{ isIntent: true }],
      act: async (cast) => {
        await cast.at(random.between(100, 1_500));
        await cast.postByHand(0, 'an-hour-old');
      },
    }),
  },
  {
    name: 'money-of-other-merchant',
    says: 'the number was paid at another of our merchants: a payment that no order knows',
    isLong: true,
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED'], unmatched: ['unknown-order/kept'] },
      payments: [
        {
          script: { buyer: 'pays-after', ms: random.between(300, 1_500) },
          isOfOtherMerchant: true,
          expiresAfterMs: 2_500,
        },
      ],
    }),
  },
  {
    name: 'unknown-reference',
    says: 'a payment that no order knows is kept for a person',
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED'], unmatched: ['unknown-order/kept'] },
      payments: [{ script: { buyer: 'pays-after', ms: random.between(300, 1_500) }, registers: 'never' }],
    }),
  },
];

import { type Cast } from '../playing/cast';
import { type PlannedPayment, type ProviderName, type Scenario } from '../scenario';
import { expectOutcome } from './expect-outcome';
import { untilPaidInTime } from './until-paid-in-time';

/** Refunded directly at the provider, in minor units. */
const PART = 1;

/** Notifications of a change and of no amount: Stripe's of an old version, Alipay's of a payment that was refunded directly. */
function paidVaguely(provider: ProviderName): { payment: PlannedPayment; given: number } {
  return provider === 'stripe'
    ? { payment: { notify: { oldForm: true } }, given: 0 }
    : { payment: { notify: { lost: ['paid'] } }, given: PART };
}

async function payVaguely(cast: Cast, given: number): Promise<void> {
  await cast.pay(0);
  if (given > 0) await cast.refundDirectly(0, given);
}

/** What the provider tells does not say how much was paid: it is asked, and where it does not say it either, a person. */
export const VAGUE_NOTIFICATIONS: readonly Scenario[] = [
  {
    name: 'news-only',
    says: 'the notification tells of a change and of no amount: the provider is asked, long before the deadline',
    providers: ['alipay', 'stripe'],
    plan: (_random, provider) => {
      const { payment, given } = paidVaguely(provider);
      return {
        windowMs: 20_000,
        ends: { status: ['PAID'], givenByHand: given },
        payments: [payment],
        act: async (cast) => {
          await payVaguely(cast, given);
          await untilPaidInTime(cast);
        },
      };
    },
  },
  {
    name: 'news-only-never-closes',
    says: 'the same for an order that never closes by itself, so that nothing else would ask',
    providers: ['alipay', 'stripe'],
    plan: (_random, provider) => {
      const { payment, given } = paidVaguely(provider);
      return {
        windowMs: 2_500,
        autoClose: false,
        ends: { status: ['PAID'], givenByHand: given },
        payments: [payment],
        act: async (cast) => {
          await cast.at(3_500);
          await payVaguely(cast, given);
          await cast.untilStatus('PAID');
        },
        breakOff: (cast) => cast.cancel(),
      };
    },
  },
  {
    name: 'part-given-back',
    says: 'the merchant refunds a part directly, the notification is lost: WeChat Pay says REFUND, so a person has to decide',
    providers: ['wechat-pay'],
    isLong: true,
    plan: () => ({
      windowMs: 4_000,
      ends: { status: ['PAID'], givenByHand: PART, attempts: ['PAID'] },
      payments: [{ notify: { lost: true } }],
      act: async (cast) => {
        await cast.pay(0);
        await cast.refundDirectly(0, PART);
        await cast.untilParked();
        // It has waited for the person, and is not closed.
        await cast.untilStatus('CLOSING');
        await expectOutcome(cast.report(0), 'paid');
      },
    }),
  },
];

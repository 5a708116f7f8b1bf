import { type Scenario } from '../scenario';
import { expectOutcome } from './expect-outcome';
import { untilPaidInTime } from './until-paid-in-time';

/** What a coupon takes off the price in the shop's books, minor units; every price is higher. */
const COUPON = 50;
const HURRIED_MS = 4_000;
const PATIENT_MS = 20_000;

/** What the shop reports is believed, until the provider says something else; and nothing goes back on its word alone. */
export const REPORTED_MONEY: readonly Scenario[] = [
  {
    name: 'report-net-of-coupon',
    says: 'the shop reports less than was taken; the notification tells the whole amount',
    plan: () => ({
      windowMs: PATIENT_MS,
      ends: { status: ['PAID'], unmatched: ['amount-mismatch/completed'], attempts: ['PAID'] },
      payments: [{}],
      act: async (cast) => {
        const report = cast.report(0, { amount: cast.order.amount - COUPON });
        await expectOutcome(report, 'amount-mismatch');
        await cast.pay(0);
        await untilPaidInTime(cast);
      },
    }),
  },
  {
    name: 'report-net-of-coupon-news-lost',
    says: 'the same, and the notification is lost: the provider is asked at the deadline, before anything goes back',
    plan: () => ({
      windowMs: HURRIED_MS,
      ends: { status: ['PAID'], unmatched: ['amount-mismatch/completed'], attempts: ['PAID'] },
      payments: [{ notify: { lost: true } }],
      act: async (cast) => {
        await cast.pay(0);
        const report = cast.report(0, { amount: cast.order.amount - COUPON });
        await expectOutcome(report, 'amount-mismatch');
      },
    }),
  },
  {
    name: 'report-of-a-part',
    says: 'the buyer pays less, and the shop says so; it goes back once the provider has confirmed it',
    plan: (random) => {
      const part = random.between(1, 99);
      return {
        windowMs: HURRIED_MS,
        ends: { status: ['CLOSED_REFUNDED'], refunds: 1, unmatched: ['amount-mismatch/refunding'] },
        payments: [{ partialAmount: part, notify: { lost: true } }],
        act: async (cast) => {
          await cast.pay(0);
          await expectOutcome(cast.report(0, { amount: part }), 'amount-mismatch');
        },
      };
    },
  },
  {
    name: 'late-report-unknown-there',
    says: 'the shop reports a late payment that the provider does not know: it is kept for a person',
    plan: () => ({
      windowMs: 2_500,
      merchantId: 'shop-refund',
      ends: { status: ['CLOSED'], unmatched: ['late/kept'], attempts: ['PAID'] },
      payments: [{}],
      act: async (cast) => {
        await cast.untilStatus('CLOSED');
        await expectOutcome(cast.report(0), 'late');
      },
    }),
  },
  {
    name: 'late-report-confirmed',
    says: 'the shop reports a late payment, the notification is lost; it is refunded once the provider has confirmed it',
    plan: () => ({
      windowMs: 2_500,
      merchantId: 'shop-refund',
      ends: { status: ['CLOSED_REFUNDED'], refunds: 1 },
      payments: [{ closeLies: true, notify: { lost: true } }],
      act: async (cast) => {
        await cast.untilStatus('CLOSED');
        await cast.pay(0);
        await cast.report(0);
      },
    }),
  },
  {
    name: 'two-names',
    says: "the shop reports the payment by the provider's own number, the notification is lost: one payment, nothing goes back",
    plan: () => ({
      windowMs: PATIENT_MS,
      ends: { status: ['PAID'], attempts: ['DUPLICATE', 'PAID'] },
      payments: [{ isSession: true, notify: { lost: true } }],
      act: async (cast) => {
        await cast.pay(0);
        await expectOutcome(cast.report(0, { isByProvidersName: true }), 'paid');
      },
    }),
  },
  {
    name: 'two-names-news-first',
    says: 'the same, and the notification comes before the report',
    plan: () => ({
      windowMs: PATIENT_MS,
      ends: { status: ['PAID'], attempts: ['PAID'] },
      payments: [{ isSession: true }],
      act: async (cast) => {
        await cast.pay(0);
        await untilPaidInTime(cast);
        await expectOutcome(cast.report(0, { isByProvidersName: true }), 'already-paid');
      },
    }),
  },
  {
    name: 'foreign-payment-reported',
    says: 'a payment that nobody had registered is reported for a closed order: it is kept for a person',
    plan: () => ({
      windowMs: 2_500,
      merchantId: 'shop-refund',
      ends: { status: ['CLOSED'], unmatched: ['late/kept'], attempts: ['CLOSED', 'PAID'] },
      payments: [{}, { registers: 'never', notify: 'none' }],
      act: async (cast) => {
        await cast.untilStatus('CLOSED');
        await cast.pay(1);
        await expectOutcome(cast.report(1), 'late');
      },
    }),
  },
];

import { type Check } from './check';
import { refundOf } from './refund-of';

/** Refunds, by the name of the case. */
export const REFUND_CASES: Readonly<Record<string, Check>> = {
  'a paid attempt can be refunded': async (bench) => {
    const attempt = await bench.paidAttempt();
    await bench.expectRefunded(refundOf(attempt));
    await bench.expectGivenBack(attempt, attempt.amount);
  },
  'the same refund number twice refunds the money once': async (bench) => {
    const attempt = await bench.paidAttempt();
    // Half of it, as most providers would refuse to refund more than was paid whatever the number is.
    const refund = refundOf(attempt, attempt.amount / 2n);
    await bench.expectRefunded(refund);
    await bench.expectRefunded(refund);
    await bench.expectGivenBack(attempt, refund.amount);
  },
  'two refund numbers are two refunds: a part, and then the rest': async (bench) => {
    const attempt = await bench.paidAttempt();
    await bench.expectRefunded(refundOf(attempt, 1n));
    await bench.expectGivenBack(attempt, 1n);
    await bench.expectRefunded(refundOf(attempt, attempt.amount - 1n));
    await bench.expectGivenBack(attempt, attempt.amount);
  },
  'more than was paid is not refunded': async (bench) => {
    const attempt = await bench.paidAttempt();
    await bench.expectNoRefund(refundOf(attempt, attempt.amount + 1n));
    await bench.expectGivenBack(attempt, 0n);
  },
  'nothing is refunded for an attempt nobody paid': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectNoRefund(refundOf(attempt));
    await bench.expectGivenBack(attempt, 0n);
  },
  'a refund of an attempt the provider never heard of is refused': async (bench) => {
    await bench.expectNoRefund(refundOf(await bench.unknownAttempt()));
  },
  'a refund with an aborted signal ends without a conclusion, and can be repeated': async (bench) => {
    const attempt = await bench.paidAttempt();
    const refund = refundOf(attempt, attempt.amount / 2n);
    await bench.expectNoRefundConclusion(refund, () => AbortSignal.abort());
    await bench.expectRefunded(refund);
    await bench.expectGivenBack(attempt, refund.amount);
  },
};

import { type PaymentAttemptRef, type RefundRequest } from '../../payments';
import { type Check } from './check';
import { type CheckedBench } from './checked-bench';
import { type ConformanceFault } from './payment-provider-bench';
import { refundOf } from './refund-of';

/** When the signal of a call to a silent provider aborts. */
const ABORT_AFTER_MS = 200;

/** What must hold while a provider misbehaves, by fault and name of the case. */
export const FAULT_CASES: Readonly<Record<ConformanceFault, Readonly<Record<string, Check>>>> = {
  silent: {
    'a provider that never answers is left at the abort, without a conclusion': (bench) =>
      underFault(bench, 'silent', (attempt) => bench.expectNoConclusion(attempt, soon)),
    'a refund that is never answered is left at the abort, and repeating it refunds the money once': (bench) =>
      refundUnderFault(bench, 'silent', (refund) => bench.expectNoRefundConclusion(refund, soon)),
  },
  failing: {
    'a server error leads to no conclusion': (bench) =>
      underFault(bench, 'failing', (attempt) => bench.expectNoConclusion(attempt)),
    'a refund that met a server error leads to no conclusion, and repeating it refunds the money once': (bench) =>
      refundUnderFault(bench, 'failing', (refund) => bench.expectNoRefundConclusion(refund)),
  },
  forged: {
    'a forged answer leads to no conclusion': (bench) =>
      underFault(bench, 'forged', (attempt) => bench.expectNoConclusion(attempt)),
    'a forged answer to a refund leads to no conclusion, and repeating it refunds the money once': (bench) =>
      refundUnderFault(bench, 'forged', (refund) => bench.expectNoRefundConclusion(refund)),
  },
  'answers-lost': {
    'a close whose answer was lost leads to no conclusion, and closing again finds it closed': async (bench) => {
      const attempt = await bench.openAttempt();
      const restore = await bench.injected('answers-lost');
      await bench.tryClose(attempt).finally(restore);
      await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
      await bench.expectQuery(attempt, 'CLOSED');
    },
    'a refund whose answer was lost leads to no conclusion, and repeating it refunds the money once': (bench) =>
      refundUnderFault(bench, 'answers-lost', (refund) => bench.expectNoRefundConclusion(refund)),
  },
};

/** The answers about a paid attempt are the ones that must not be believed, or lost, under a fault. */
async function underFault(
  bench: CheckedBench,
  fault: ConformanceFault,
  check: (attempt: PaymentAttemptRef) => Promise<void>,
): Promise<void> {
  const attempt = await bench.paidAttempt();
  const restore = await bench.injected(fault);
  await check(attempt).finally(restore);
  await bench.expectQuery(attempt, 'PAID');
}

/** Of half the money: a second refund of it would not be refused for its amount. */
async function refundUnderFault(
  bench: CheckedBench,
  fault: ConformanceFault,
  check: (refund: RefundRequest) => Promise<void>,
): Promise<void> {
  const attempt = await bench.paidAttempt();
  const refund = refundOf(attempt, attempt.amount / 2n);
  const restore = await bench.injected(fault);
  await check(refund).finally(restore);
  await bench.expectRefunded(refund);
  await bench.expectGivenBack(attempt, refund.amount);
}

function soon(): AbortSignal {
  return AbortSignal.timeout(ABORT_AFTER_MS);
}

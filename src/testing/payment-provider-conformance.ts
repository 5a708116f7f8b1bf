import { ok, strictEqual } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type PaymentAttemptRef, type RefundRequest } from '../payments';
import {
  type Check,
  CheckedBench,
  type ConformanceFault,
  type PaymentProviderBench,
} from './conformance/checked-bench';

/** One check; `run` rejects with an error that says what is wrong. */
export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

/**
 * The contract of PaymentProvider as cases for any test runner:
 * `for (const { name, run } of describePaymentProvider(() => bench, ['failing'])) test(name, run);`
 * @param bench called at the start of each case, so it may be made in a before-all hook.
 * @param faults which faults the bench can inject; the cases of the others are left out.
 */
export function describePaymentProvider(
  bench: () => PaymentProviderBench,
  faults: readonly ConformanceFault[] = [],
): ConformanceCase[] {
  const tables: Readonly<Record<string, Check>>[] = [
    PAYMENT_CASES,
    REFUND_CASES,
    ...faults.map((one) => FAULT_CASES[one]),
  ];
  return tables.flatMap((table) =>
    Object.entries(table).map(([name, check]) => ({ name, run: () => check(new CheckedBench(bench())) })),
  );
}

/** Query and close, by the name of the case. */
const PAYMENT_CASES: Readonly<Record<string, Check>> = {
  'an attempt nobody paid is OPEN': async (bench) => {
    await bench.expectQuery(await bench.openAttempt(), 'OPEN');
  },
  'asking changes nothing: the buyer can still pay': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectQuery(attempt, 'OPEN');
    await bench.expectQuery(attempt, 'OPEN');
    ok(await bench.pay(attempt), 'the buyer was refused after queries only');
  },
  'a paid attempt is PAID with amount, currency, time and transaction': async (bench) => {
    const attempt = await bench.paidAttempt();
    const outcome = await bench.query(attempt);
    strictEqual(outcome.type, 'PAID');
    strictEqual(outcome.amount, attempt.amount);
    strictEqual(outcome.currency, attempt.currency);
    ok(!Number.isNaN(outcome.paidAt.getTime()), 'paidAt is not a date');
    ok(outcome.transactionId.length > 0, 'transactionId is empty');
  },
  'an attempt the provider never heard of is NOT_FOUND to query and close': async (bench) => {
    const attempt = await bench.unknownAttempt();
    await bench.expectQuery(attempt, 'NOT_FOUND');
    await bench.expectClose(attempt, ['NOT_FOUND']);
  },
  'after a close the attempt is CLOSED and the buyer is refused': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
    ok(!(await bench.pay(attempt)), 'the provider took money after it said CLOSED');
    await bench.expectQuery(attempt, 'CLOSED');
  },
  'closing twice is harmless': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
    await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
  },
  'closing a paid attempt answers PAID and leaves the payment alone': async (bench) => {
    const attempt = await bench.paidAttempt();
    await bench.expectClose(attempt, ['PAID']);
    await bench.expectQuery(attempt, 'PAID');
    await bench.expectGivenBack(attempt, 0n);
  },
  'a call with an aborted signal ends without a conclusion': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectNoConclusion(attempt, () => AbortSignal.abort());
    await bench.expectQuery(attempt, 'OPEN');
  },
};

/** Refunds, by the name of the case. */
const REFUND_CASES: Readonly<Record<string, Check>> = {
  'a paid attempt can be refunded': async (bench) => {
    const attempt = await bench.paidAttempt();
    await bench.expectRefunded(refundOf(attempt));
    await bench.expectGivenBack(attempt, attempt.amount);
  },
  'the same refund number twice refunds the money once': async (bench) => {
    const attempt = await bench.paidAttempt();
    const refund = smallRefundOf(bench, attempt);
    await bench.expectRefunded(refund);
    await bench.expectRefunded(refund);
    await bench.expectGivenBack(attempt, refund.amount);
  },
  'two refund numbers are two refunds: a part, and then the rest': async (bench) => {
    if (!bench.refundsInPart) return;
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
    const refund = smallRefundOf(bench, attempt);
    await bench.expectNoRefundConclusion(refund, () => AbortSignal.abort());
    await bench.expectRefunded(refund);
    await bench.expectGivenBack(attempt, refund.amount);
  },
};

/** When the signal of a call to a silent provider aborts. */
const ABORT_AFTER_MS = 200;

/** What must hold while a provider misbehaves, by fault and name of the case. */
const FAULT_CASES: Readonly<Record<ConformanceFault, Readonly<Record<string, Check>>>> = {
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

async function refundUnderFault(
  bench: CheckedBench,
  fault: ConformanceFault,
  check: (refund: RefundRequest) => Promise<void>,
): Promise<void> {
  const attempt = await bench.paidAttempt();
  const refund = smallRefundOf(bench, attempt);
  const restore = await bench.injected(fault);
  await check(refund).finally(restore);
  await bench.expectRefunded(refund);
  await bench.expectGivenBack(attempt, refund.amount);
}

function soon(): AbortSignal {
  return AbortSignal.timeout(ABORT_AFTER_MS);
}

/** Of half the money, where that is possible: a second refund of it would not be refused for its amount. */
function smallRefundOf(bench: CheckedBench, attempt: PaymentAttemptRef): RefundRequest {
  return refundOf(attempt, bench.refundsInPart ? attempt.amount / 2n : attempt.amount);
}

/** A refund of all that was paid, or of a part, with a number of its own. */
function refundOf(attempt: PaymentAttemptRef, amount: bigint = attempt.amount): RefundRequest {
  const refundNumber = randomBytes(16).toString('hex');
  const { amount: paidAmount, currency } = attempt;
  return { attempt, refundNumber, amount, paidAmount, currency, reason: 'conformance test' };
}

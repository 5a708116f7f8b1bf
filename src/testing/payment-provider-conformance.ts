import { ok, strictEqual } from 'node:assert/strict';
import { type PaymentAttemptRef, type PaymentProvider, type QueryOutcome } from '../payments';

/**
 * How a provider can misbehave under test.
 * - `silent`: takes the request and never answers · `failing`: server error, and nothing is done
 * - `forged`: answers whose signature does not fit · `answers-lost`: does as asked, but the answer never arrives
 */
export type ConformanceFault = 'silent' | 'failing' | 'forged' | 'answers-lost';

/** What the suite needs of the provider's other side: a sandbox or a simulator. */
export interface PaymentProviderBench {
  readonly provider: PaymentProvider;
  /** A new attempt that a buyer could pay now. */
  openAttempt(): Promise<PaymentAttemptRef>;
  /** An attempt that the provider has never heard of. */
  unknownAttempt(): Promise<PaymentAttemptRef>;
  /** The buyer tries to pay. Resolves to whether the provider took the money. */
  pay(attempt: PaymentAttemptRef): Promise<boolean>;
  /** Makes the provider misbehave until the returned function is called. Only for faults given to the suite. */
  inject?(fault: ConformanceFault): Promise<() => Promise<void>>;
}

/** One check; `run` rejects with an error that says what is wrong. */
export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

type Check = (bench: PaymentProviderBench) => Promise<void>;

/** When the signal of a call to a silent provider aborts. */
const ABORT_AFTER_MS = 200;
/** What an ordinary call may take: long enough for a slow sandbox. */
const PATIENCE_MS = 10_000;
/** A call that goes on longer does not obey its signal. */
const MAX_CALL_MS = PATIENCE_MS + 2_000;

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
  const plain = Object.entries(PLAIN_CASES).map(([name, check]) => ({ name, run: () => check(bench()) }));
  const faulty = faults.flatMap((fault) =>
    Object.entries(FAULT_CASES[fault]).map(([name, check]) => ({ name, run: () => check(bench()) })),
  );
  return [...plain, ...faulty];
}

const PLAIN_CASES: Readonly<Record<string, Check>> = {
  'an attempt nobody paid is OPEN': async (bench) => {
    await expectQuery(bench, await bench.openAttempt(), 'OPEN');
  },
  'asking changes nothing: the buyer can still pay': async (bench) => {
    const attempt = await bench.openAttempt();
    await expectQuery(bench, attempt, 'OPEN');
    await expectQuery(bench, attempt, 'OPEN');
    ok(await bench.pay(attempt), 'the buyer was refused after queries only');
  },
  'a paid attempt is PAID with amount, currency, time and transaction': async (bench) => {
    const attempt = await paidAttempt(bench);
    const outcome = await bench.provider.query(attempt, patience());
    strictEqual(outcome.type, 'PAID');
    strictEqual(outcome.amount, attempt.amount);
    strictEqual(outcome.currency, attempt.currency);
    ok(!Number.isNaN(outcome.paidAt.getTime()), 'paidAt is not a date');
    ok(outcome.transactionId.length > 0, 'transactionId is empty');
  },
  'an attempt the provider never heard of is NOT_FOUND to query and close': async (bench) => {
    const attempt = await bench.unknownAttempt();
    await expectQuery(bench, attempt, 'NOT_FOUND');
    await expectClose(bench, attempt, ['NOT_FOUND']);
  },
  'after a close the attempt is CLOSED and the buyer is refused': async (bench) => {
    const attempt = await bench.openAttempt();
    await expectClose(bench, attempt, ['CLOSED', 'ALREADY_CLOSED']);
    ok(!(await bench.pay(attempt)), 'the provider took money after it said CLOSED');
    await expectQuery(bench, attempt, 'CLOSED');
  },
  'closing twice is harmless': async (bench) => {
    const attempt = await bench.openAttempt();
    await expectClose(bench, attempt, ['CLOSED', 'ALREADY_CLOSED']);
    await expectClose(bench, attempt, ['CLOSED', 'ALREADY_CLOSED']);
  },
  'closing a paid attempt answers PAID and leaves the payment alone': async (bench) => {
    const attempt = await paidAttempt(bench);
    await expectClose(bench, attempt, ['PAID']);
    await expectQuery(bench, attempt, 'PAID');
  },
  'a call with an aborted signal ends without a conclusion': async (bench) => {
    const attempt = await bench.openAttempt();
    await expectNoConclusion(bench, attempt, () => AbortSignal.abort());
    await expectQuery(bench, attempt, 'OPEN');
  },
};

const FAULT_CASES: Readonly<Record<ConformanceFault, Readonly<Record<string, Check>>>> = {
  silent: {
    'a provider that never answers is left at the abort, without a conclusion': (bench) =>
      underFault(bench, 'silent', (attempt) =>
        expectNoConclusion(bench, attempt, () => AbortSignal.timeout(ABORT_AFTER_MS)),
      ),
  },
  failing: {
    'a server error leads to no conclusion': (bench) =>
      underFault(bench, 'failing', (attempt) => expectNoConclusion(bench, attempt, patience)),
  },
  forged: {
    'a forged answer leads to no conclusion': (bench) =>
      underFault(bench, 'forged', (attempt) => expectNoConclusion(bench, attempt, patience)),
  },
  'answers-lost': {
    'a close whose answer was lost leads to no conclusion, and closing again finds it closed': async (bench) => {
      const attempt = await bench.openAttempt();
      const restore = await injected(bench, 'answers-lost');
      await conclusionOf(bench.provider.close(attempt, patience())).finally(restore);
      await expectClose(bench, attempt, ['CLOSED', 'ALREADY_CLOSED']);
      await expectQuery(bench, attempt, 'CLOSED');
    },
  },
};

/** The answers about a paid attempt are the ones that must not be believed, or lost, under a fault. */
async function underFault(
  bench: PaymentProviderBench,
  fault: ConformanceFault,
  check: (attempt: PaymentAttemptRef) => Promise<void>,
): Promise<void> {
  const attempt = await paidAttempt(bench);
  const restore = await injected(bench, fault);
  await check(attempt).finally(restore);
  await expectQuery(bench, attempt, 'PAID');
}

async function injected(bench: PaymentProviderBench, fault: ConformanceFault): Promise<() => Promise<void>> {
  if (!bench.inject) throw new TypeError(`the suite was given the fault "${fault}", but the bench has no inject()`);
  return bench.inject(fault);
}

async function paidAttempt(bench: PaymentProviderBench): Promise<PaymentAttemptRef> {
  const attempt = await bench.openAttempt();
  ok(await bench.pay(attempt), 'the bench could not pay an open attempt');
  return attempt;
}

async function expectQuery(
  { provider }: PaymentProviderBench,
  attempt: PaymentAttemptRef,
  type: QueryOutcome['type'],
): Promise<void> {
  const outcome = await provider.query(attempt, patience());
  strictEqual(outcome.type, type, `query answered ${describe(outcome)} instead of ${type}`);
}

async function expectClose(
  { provider }: PaymentProviderBench,
  attempt: PaymentAttemptRef,
  types: readonly string[],
): Promise<void> {
  const outcome = await provider.close(attempt, patience());
  ok(types.includes(outcome.type), `close answered ${describe(outcome)} instead of ${types.join(' or ')}`);
}

/** Both calls, one after the other, end soon after the signal, with UNKNOWN or by throwing. */
async function expectNoConclusion(
  { provider }: PaymentProviderBench,
  attempt: PaymentAttemptRef,
  signal: () => AbortSignal,
): Promise<void> {
  strictEqual(await conclusionOf(provider.query(attempt, signal())), undefined, 'query came to a conclusion');
  strictEqual(await conclusionOf(provider.close(attempt, signal())), undefined, 'close came to a conclusion');
}

/** The type of the outcome, or undefined for UNKNOWN and for a throw. Rejects if the call does not end in time. */
async function conclusionOf(call: Promise<{ readonly type: string }>): Promise<string | undefined> {
  const settled = call.then(({ type }) => (type === 'UNKNOWN' ? undefined : type)).catch(() => undefined);
  return new Promise((resolve, reject) => {
    const late = new Error(`the call did not end within ${MAX_CALL_MS} ms, although its signal aborts`);
    const timer = setTimeout(() => reject(late), MAX_CALL_MS);
    void settled.then((type) => {
      clearTimeout(timer);
      resolve(type);
    });
  });
}

function patience(): AbortSignal {
  return AbortSignal.timeout(PATIENCE_MS);
}

function describe(outcome: { readonly type: string; readonly reason?: string }): string {
  return outcome.reason === undefined ? outcome.type : `${outcome.type} (${outcome.reason})`;
}

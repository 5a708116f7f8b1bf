import { ok, strictEqual } from 'node:assert/strict';
import { SystemClock, withTimeout } from '../../clock';
import {
  type PaymentAttemptRef,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
  type PaymentProvider,
} from '../../payments';

/** What an ordinary call may take: long enough for a slow sandbox. */
const PATIENCE_MS = 10_000;

/** A call that goes on longer does not obey its signal. */
const MAX_CALL_MS = PATIENCE_MS + 2_000;

/** Refunds are on their way for a while; a sandbox gets that many more calls, with a pause before each. */
const REFUND_CALLS = 50;

const REFUND_PAUSE_MS = 200;

/** A bench and the expectations of the suite. Every `expect…` rejects with an error that says what is wrong. */
export class CheckedBench {
  private readonly clock = new SystemClock();

  constructor(private readonly bench: PaymentProviderBench) {}

  openAttempt(): Promise<PaymentAttemptRef> {
    return this.bench.openAttempt();
  }

  get refundsInPart(): boolean {
    return this.bench.provider.refundsInPart === true;
  }

  unknownAttempt(): Promise<PaymentAttemptRef> {
    return this.bench.unknownAttempt();
  }

  pay(attempt: PaymentAttemptRef): Promise<boolean> {
    return this.bench.pay(attempt);
  }

  async paidAttempt(): Promise<PaymentAttemptRef> {
    const attempt = await this.bench.openAttempt();
    ok(await this.bench.pay(attempt), 'the bench could not pay an open attempt');
    return attempt;
  }

  async injected(fault: ConformanceFault): Promise<() => Promise<void>> {
    if (!this.bench.inject)
      throw new TypeError(`the suite was given the fault "${fault}", but the bench has no inject()`);
    return this.bench.inject(fault);
  }

  query(attempt: PaymentAttemptRef): Promise<QueryOutcome> {
    return this.bench.provider.query(attempt, patience());
  }

  refund(refund: RefundRequest): Promise<RefundOutcome> {
    return this.bench.provider.refund(refund, patience());
  }

  async expectQuery(attempt: PaymentAttemptRef, type: QueryOutcome['type']): Promise<void> {
    const outcome = await this.query(attempt);
    strictEqual(outcome.type, type, `query answered ${describe(outcome)} instead of ${type}`);
  }

  async expectClose(attempt: PaymentAttemptRef, types: readonly string[]): Promise<void> {
    const outcome = await this.bench.provider.close(attempt, patience());
    ok(types.includes(outcome.type), `close answered ${describe(outcome)} instead of ${types.join(' or ')}`);
  }

  /** Asks with the same number until the money is back. */
  async expectRefunded(refund: RefundRequest): Promise<void> {
    let outcome = await this.refund(refund);
    for (let calls = 0; outcome.type === 'PENDING' && calls < REFUND_CALLS; calls += 1) {
      await this.clock.sleep(REFUND_PAUSE_MS);
      outcome = await this.refund(refund);
    }
    strictEqual(outcome.type, 'REFUNDED', `refund answered ${describe(outcome)} instead of REFUNDED`);
    ok(outcome.refundId.length > 0, 'refundId is empty');
  }

  async expectNoRefund(refund: RefundRequest): Promise<void> {
    const outcome = await this.refund(refund);
    const isRefusal = outcome.type === 'REJECTED' || outcome.type === 'UNKNOWN';
    ok(isRefusal, `refund answered ${describe(outcome)} instead of REJECTED or UNKNOWN`);
  }

  /** @param amount minor units */
  async expectGivenBack(attempt: PaymentAttemptRef, amount: bigint): Promise<void> {
    const given = await this.bench.refunded(attempt);
    strictEqual(given, amount, `the provider refunded ${given} instead of ${amount}`);
  }

  /** Both calls, one after the other, end soon after the signal, with UNKNOWN or by throwing. */
  async expectNoConclusion(attempt: PaymentAttemptRef, signal: () => AbortSignal = patience): Promise<void> {
    const { provider } = this.bench;
    strictEqual(await this.conclusionOf(provider.query(attempt, signal())), undefined, 'query came to a conclusion');
    strictEqual(await this.conclusionOf(provider.close(attempt, signal())), undefined, 'close came to a conclusion');
  }

  async expectNoRefundConclusion(refund: RefundRequest, signal: () => AbortSignal = patience): Promise<void> {
    const conclusion = await this.conclusionOf(this.bench.provider.refund(refund, signal()));
    strictEqual(conclusion, undefined, `refund came to the conclusion ${conclusion ?? ''}`);
  }

  /** Closes and takes any outcome, but it has to end in time. */
  async tryClose(attempt: PaymentAttemptRef): Promise<void> {
    await this.conclusionOf(this.bench.provider.close(attempt, patience()));
  }

  /** The type of the outcome, or undefined for UNKNOWN and for a throw. Rejects if the call does not end in time. */
  private async conclusionOf(call: Promise<{ readonly type: string }>): Promise<string | undefined> {
    const settled = call.then(({ type }) => (type === 'UNKNOWN' ? undefined : type)).catch(() => undefined);
    const type = await withTimeout(this.clock, MAX_CALL_MS, settled, 'LATE');
    ok(type !== 'LATE', `the call did not end within ${MAX_CALL_MS} ms, although its signal aborts`);
    return type;
  }
}

function patience(): AbortSignal {
  return AbortSignal.timeout(PATIENCE_MS);
}

function describe(outcome: { readonly type: string; readonly reason?: string }): string {
  return outcome.reason === undefined ? outcome.type : `${outcome.type} (${outcome.reason})`;
}

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
  /** What the provider has really refunded for the attempt so far, in minor units. */
  refunded(attempt: PaymentAttemptRef): Promise<bigint>;
  /** Makes the provider misbehave until the returned function is called. Only for faults given to the suite. */
  inject?(fault: ConformanceFault): Promise<() => Promise<void>>;
}

/** What one case of the suite does; rejects with an error that says what is wrong. */
export type Check = (bench: CheckedBench) => Promise<void>;

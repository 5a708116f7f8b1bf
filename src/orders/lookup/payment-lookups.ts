import {
  type PaymentAttemptRef,
  type PaymentProvider,
  type PaymentProviders,
  type RefundOutcome,
  type UnknownOutcome,
} from '../../payments';
import { assertNever, present } from '../../errors';
import { type AttemptFinding, type Finding } from './attempt-finding';
import { type Facts, nextStep, readConfirmation, readQuery } from './next-step';
import { accountOfAttempt, canTakeMoney, isBooked, type PaymentAttempt } from '../payment-attempt';

/**
 * Concurrent calls per order. More would not bring the answers of one order sooner, and would leave less of the rate
 * limit for the others.
 */
const LANES = 4;

/** Looks up attempts at their providers. Do not use it inside a transaction. */
export class PaymentLookups {
  constructor(private readonly providers: PaymentProviders) {}

  /**
   * Closes the attempts of one order at their providers and returns the findings. For a reported payment, it only looks
   * up whether it arrived. Never rejects. Attempts that could take money come first, and each is finished before others
   * start: if 120 attempts were started at once, a provider's rate limit would let 100 answer, and none would be
   * closed.
   */
  close(attempts: readonly PaymentAttempt[], now: Date, signal: AbortSignal): Promise<AttemptFinding[]> {
    return inLanes(byUrgency(attempts), LANES, async (attempt) => {
      const provider = this.providers.get(attempt.provider);
      const finding = provider ? await interrogate(attempt, provider, now, signal) : this.noProvider(attempt.provider);
      return withKey(attempt, finding);
    });
  }

  /**
   * Looks up the attempts of one order. An open attempt has no finding. Changes nothing, except that it closes the attempts
   * in `unneeded` that are open: they were reported as paid, and the order is paid without them. Never rejects.
   */
  async query(
    attempts: readonly PaymentAttempt[],
    now: Date,
    signal: AbortSignal,
    unneeded: readonly PaymentAttempt[] = [],
  ): Promise<AttemptFinding[]> {
    const found = await inLanes(byUrgency(attempts), LANES, async (attempt) => {
      const provider = this.providers.get(attempt.provider);
      if (!provider) return this.noProvider(attempt.provider);
      if (unneeded.includes(attempt)) return closeReported(attempt, provider, now, signal);
      const answer = await orUnknown(() => provider.query(toRef(attempt), signal));
      return isBooked(attempt) ? readConfirmation(answer) : readQuery(attempt, answer, now);
    });
    return byUrgency(attempts).flatMap((attempt, index) => {
      const finding = found[index];
      return finding ? [withKey(attempt, finding)] : [];
    });
  }

  /** Requests the refund of one attempt. Never rejects. */
  async refund(
    attempt: PaymentAttempt,
    refund: { readonly number: string; readonly amount: bigint; readonly currency: string; readonly reason: string },
    signal: AbortSignal,
  ): Promise<RefundOutcome | { readonly type: 'NO_PROVIDER'; readonly reason: string }> {
    const provider = this.providers.get(attempt.provider);
    if (!provider) return this.noProvider(attempt.provider);
    const { number: refundNumber, amount, currency, reason } = refund;
    const { transactionId, paidAmount } = attempt;
    const request = {
      attempt: toRef(attempt),
      refundNumber,
      amount,
      currency,
      reason,
      paidAmount: present(paidAmount, `what was paid for ${attempt.reference}`),
    };
    return orUnknown(() => provider.refund(transactionId === null ? request : { ...request, transactionId }, signal));
  }

  private noProvider(name: string): { readonly type: 'NO_PROVIDER'; readonly reason: string } {
    const known = this.providers.names().join(', ') || 'none';
    const reason = `no payment provider "${name}" is configured here (configured: ${known}); add it and replay the timeout`;
    return { type: 'NO_PROVIDER', reason };
  }
}

async function interrogate(
  attempt: PaymentAttempt,
  provider: PaymentProvider,
  now: Date,
  signal: AbortSignal,
): Promise<Finding> {
  const ref = toRef(attempt);
  let facts: Facts = {};
  for (;;) {
    const step = nextStep(attempt, facts, now);
    if (step.type === 'conclude') return step.finding;
    if (signal.aborted) return { type: 'UNKNOWN', reason: 'no time was left for the look-up' };
    switch (step.type) {
      case 'query':
        facts = { ...facts, query: await orUnknown(() => provider.query(ref, signal)) };
        break;
      case 'close':
        facts = { ...facts, close: await orUnknown(() => provider.close(ref, signal)) };
        break;
      case 'confirm':
        facts = { ...facts, confirmation: await orUnknown(() => provider.query(ref, signal)) };
        break;
      default:
        return assertNever(step);
    }
  }
}

/** The report stays what it is, whether the attempt is closed or not: its provider does not confirm it. */
async function closeReported(
  attempt: PaymentAttempt,
  provider: PaymentProvider,
  now: Date,
  signal: AbortSignal,
): Promise<Finding> {
  const finding = await interrogate({ ...attempt, status: 'OPEN' }, provider, now, signal);
  if (finding.type === 'CLOSED') return readConfirmation({ type: 'CLOSED' });
  return finding.type === 'NOT_FOUND_YET' ? readConfirmation({ type: 'NOT_FOUND' }) : finding;
}

/** A provider that throws has given no answer. */
async function orUnknown<T>(ask: () => Promise<T>): Promise<T | UnknownOutcome> {
  try {
    return await ask();
  } catch (error) {
    return { type: 'UNKNOWN', reason: error instanceof Error ? error.message : String(error) };
  }
}

function withKey(attempt: PaymentAttempt, finding: Finding): AttemptFinding {
  const { provider, reference, merchantAccount, resolvedAccount } = attempt;
  return { provider, reference, merchantAccount, resolvedAccount, finding };
}

function byUrgency(attempts: readonly PaymentAttempt[]): PaymentAttempt[] {
  return [...attempts].sort((a, b) => urgencyOf(a) - urgencyOf(b));
}

/** Attempts that keep the order from closing come first; attempts that were closed come last. */
function urgencyOf(attempt: PaymentAttempt): number {
  if (canTakeMoney(attempt)) return 0;
  return isBooked(attempt) ? 1 : 2;
}

/**
 * Runs `work` on every item, in order, with at most `lanes` at the same time. Returns the results in the order of the
 * items.
 */
async function inLanes<T, R>(items: readonly T[], lanes: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  return results;
}

function toRef(attempt: PaymentAttempt): PaymentAttemptRef {
  const { provider, reference, amount, currency, createdAt, timeExpire } = attempt;
  const merchantAccount = accountOfAttempt(attempt);
  return {
    provider,
    reference,
    amount,
    currency,
    createdAt,
    ...(merchantAccount === null ? {} : { merchantAccount }),
    ...(timeExpire === null ? {} : { timeExpire }),
  };
}

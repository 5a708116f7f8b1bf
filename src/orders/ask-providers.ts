import {
  type PaymentAttemptRef,
  type PaymentProvider,
  type PaymentProviders,
  type RefundOutcome,
  type UnknownOutcome,
} from '../payments';
import { assertNever } from '../errors';
import { type AttemptFinding, type Finding } from './attempt-finding';
import { type Facts, nextStep, readQuery } from './next-step';
import { type PaymentAttempt } from './payment-attempt';

/** Asks providers about attempts. Nothing in here may run inside a transaction. */
export class AskProviders {
  constructor(private readonly providers: PaymentProviders) {}

  /** Closes every attempt at its provider, all at once, and says what became of each. Never rejects. */
  close(attempts: readonly PaymentAttempt[], now: Date, signal: AbortSignal): Promise<AttemptFinding[]> {
    return this.each(attempts, (attempt, provider) => interrogate(attempt, provider, now, signal));
  }

  /** Asks about every attempt, all at once, and changes nothing. An attempt that is open has no finding. */
  async query(attempts: readonly PaymentAttempt[], now: Date, signal: AbortSignal): Promise<AttemptFinding[]> {
    const asked = attempts.map(async (attempt) => {
      const provider = this.providers.get(attempt.provider);
      if (!provider) return [];
      const found = readQuery(attempt, await orUnknown(() => provider.query(toRef(attempt), signal)), now);
      return found ? [withKey(attempt, found)] : [];
    });
    return (await Promise.all(asked)).flat();
  }

  /** Asks for the money of one attempt to be given back. Never rejects. */
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
      paidAmount: paidAmount ?? amount,
    };
    return orUnknown(() => provider.refund(transactionId === null ? request : { ...request, transactionId }, signal));
  }

  private each(
    attempts: readonly PaymentAttempt[],
    ask: (attempt: PaymentAttempt, provider: PaymentProvider) => Promise<Finding>,
  ): Promise<AttemptFinding[]> {
    return Promise.all(
      attempts.map(async (attempt) => {
        const provider = this.providers.get(attempt.provider);
        return withKey(attempt, provider ? await ask(attempt, provider) : this.noProvider(attempt.provider));
      }),
    );
  }

  private noProvider(name: string): { readonly type: 'NO_PROVIDER'; readonly reason: string } {
    const known = this.providers.names().join(', ') || 'none';
    const reason = `no payment provider "${name}" is configured here (there are: ${known}); add it and replay the timeout`;
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
    if (signal.aborted) return { type: 'UNKNOWN', reason: 'there was no time left to ask' };
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

/** A provider that throws has told nothing. */
async function orUnknown<T>(ask: () => Promise<T>): Promise<T | UnknownOutcome> {
  try {
    return await ask();
  } catch (error) {
    return { type: 'UNKNOWN', reason: error instanceof Error ? error.message : String(error) };
  }
}

function withKey({ provider, reference }: PaymentAttempt, finding: Finding): AttemptFinding {
  return { provider, reference, finding };
}

function toRef(attempt: PaymentAttempt): PaymentAttemptRef {
  const { provider, reference, amount, currency, createdAt, merchantAccount, timeExpire } = attempt;
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

import { Injectable } from '@nestjs/common';
import {
  type PaymentAttemptRef,
  type PaymentProvider,
  PaymentProviders,
  type RefundOutcome,
  type UnknownOutcome,
  type CloseOutcome,
  type PaidOutcome,
  type PaymentEvidence,
  type QueryOutcome,
} from '../../payments';
import { assertNever, present, validInstant, messageOf } from '../../errors';
import { accountOfAttempt, canTakeMoney, isBooked, type PaymentAttempt, isSettledReport } from '../model/order';
import { readPayment } from '../input';
import { type AttemptFinding, type Finding } from '../model/findings';

/** Concurrent calls per order. More would bring no answer sooner, and leave less of the rate limit for other orders. */
const LANES = 4;

/** Looks up attempts at their providers. Do not use it inside a transaction. */
@Injectable()
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
    if (signal.aborted) return outOfTime(facts);
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

/** Whoever goes on after the first answer knows that the attempt is open, and may have closed it. */
function outOfTime({ query }: Facts): Finding {
  return { type: 'UNKNOWN', reason: 'no time was left for the look-up', ...(query && { isKnownThere: true }) };
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
    return { type: 'UNKNOWN', reason: messageOf(error) };
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

/** Runs `work` on every item, at most `lanes` at the same time. Returns the results in the order of the items. */
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

export interface Facts {
  readonly query?: QueryOutcome;
  readonly close?: CloseOutcome;
  readonly confirmation?: QueryOutcome;
}

export type Step =
  | { readonly type: 'query' }
  | { readonly type: 'close' }
  | { readonly type: 'confirm' }
  | { readonly type: 'conclude'; readonly finding: Finding };

type Asked = Pick<PaymentAttempt, 'status' | 'registered' | 'paidSource' | 'createdAt' | 'timeExpire'>;

/** Margin for a provider's clock, and for a payment page that was opened in the last second. */
const EXPIRY_MARGIN_MS = 60_000;

/** Within 5 minutes of creation, WeChat Pay may confirm a close and leave the attempt open. So it is queried again. */
const YOUNG_MS = 5 * 60_000;

/**
 * Pure: chooses the next call of a look-up, at most query, close, and confirm. Only a positive answer leads to CLOSED.
 * Any unclear answer leads to a finding that makes the order wait.
 */
export function nextStep(attempt: Asked, facts: Facts, now: Date): Step {
  if (!facts.query) return { type: 'query' };
  if (isBooked(attempt) && !isSettledReport(attempt)) return conclude(readConfirmation(facts.query));
  const found = readQuery(attempt, facts.query, now);
  if (found) return conclude(found);
  if (!facts.close) return { type: 'close' };
  if (!facts.confirmation) return afterClose(attempt, facts.close, now);
  // The provider knows the attempt, so it was handed over, whatever its row says.
  const confirmed = readQuery({ ...attempt, status: 'OPEN' }, facts.confirmation, now) ?? stillOpen(facts.close);
  return conclude(afterOpen(confirmed));
}

/** What the provider says of an attempt that it has just called open. */
function afterOpen(finding: Finding): Finding {
  if (finding.type === 'CLOSED') return { ...finding, wasOpen: true };
  return finding.type === 'UNKNOWN' ? { ...finding, isKnownThere: true } : finding;
}

export function readConfirmation(answer: QueryOutcome): Finding {
  switch (answer.type) {
    case 'PAID':
      return readPaid(answer);
    case 'PROCESSING':
    case 'AUTHORIZED':
      return { type: 'IN_PROGRESS', reason: `the provider says ${answer.type}` };
    case 'UNKNOWN':
      return unknownFinding(answer);
    case 'OPEN':
    case 'CLOSED':
    case 'REFUNDED':
    case 'NOT_FOUND':
      return { type: 'UNCONFIRMED', reason: `it was reported as paid, but the provider says ${answer.type}` };
    default:
      return assertNever(answer);
  }
}

/** Pure: reads one query without closing anything. Undefined: the attempt is open. */
export function readQuery(attempt: Asked, answer: QueryOutcome, now: Date): Finding | undefined {
  switch (answer.type) {
    case 'OPEN':
      return undefined;
    case 'PAID':
      return readPaid(answer);
    case 'CLOSED':
    case 'REFUNDED':
      return closed(answer.type, answer.evidence);
    case 'PROCESSING':
    case 'AUTHORIZED':
      return { type: 'IN_PROGRESS', reason: `the provider says ${answer.type}` };
    case 'NOT_FOUND':
      if (Number.isNaN(answer.providerNow?.getTime()))
        return unknownFinding({ reason: 'the provider returned an invalid time' });
      return readNotFound(attempt, answer.providerNow ?? validInstant(now), answer.evidence);
    case 'UNKNOWN':
      return unknownFinding(answer);
    default:
      return assertNever(answer);
  }
}

function afterClose(attempt: Asked, answer: CloseOutcome, now: Date): Step {
  switch (answer.type) {
    case 'CLOSED':
    case 'ALREADY_CLOSED':
      return needsConfirmation(attempt, now)
        ? { type: 'confirm' }
        : conclude(afterOpen(closed(answer.type, answer.evidence)));
    case 'IN_PROGRESS':
      return conclude({ type: 'IN_PROGRESS', reason: 'the provider cannot close: the buyer is paying' });
    // Paid: the query returns the amount. Not found right after it was open, or no clear answer: query once more.
    case 'PAID':
    case 'NOT_FOUND':
    case 'UNKNOWN':
      return { type: 'confirm' };
    default:
      return assertNever(answer);
  }
}

function stillOpen(close: CloseOutcome): Finding {
  if (close.type === 'UNKNOWN') return unknownFinding({ ...close, reason: `close: ${close.reason}` });
  return { type: 'IN_PROGRESS', reason: `the provider answered ${close.type} to the close, and still says OPEN` };
}

function readNotFound(attempt: Asked, now: Date, evidence: PaymentEvidence | undefined): Finding {
  // Never handed over, and it can no longer be, because the order would have to be PENDING.
  if (attempt.status === 'CREATED') return closed('NOT_FOUND', { neverLeftOurSide: true, ...evidence });
  if (!attempt.timeExpire) return { type: 'NOT_FOUND_YET', finalAt: null };
  const finalAt = new Date(attempt.timeExpire.getTime() + EXPIRY_MARGIN_MS);
  if (now < finalAt) return { type: 'NOT_FOUND_YET', finalAt };
  return closed('NOT_FOUND', { timeExpire: attempt.timeExpire.toISOString(), ...evidence });
}

function needsConfirmation({ createdAt, timeExpire }: Asked, now: Date): boolean {
  if (timeExpire && now.getTime() >= timeExpire.getTime() + EXPIRY_MARGIN_MS) return false;
  return now.getTime() - createdAt.getTime() < YOUNG_MS;
}

function closed(answer: string, evidence: PaymentEvidence | undefined): Finding {
  return { type: 'CLOSED', evidence: { answer, ...evidence } };
}

function readPaid(answer: PaidOutcome): Finding {
  const read = readPayment(answer);
  if ('payment' in read) return read.payment;
  return unknownFinding({ reason: `the provider says PAID, but ${read.problem}`, needsPerson: true });
}

/** `outage` is for the circuit breaker alone. The wait does not depend on it. */
function unknownFinding({ reason, retryAfterMs, needsPerson, paused }: Omit<UnknownOutcome, 'type'>): Finding {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { type: 'UNKNOWN', reason, ...wait, ...(needsPerson && { needsPerson }), ...(paused && { paused }) };
}

function conclude(finding: Finding): Step {
  return { type: 'conclude', finding };
}

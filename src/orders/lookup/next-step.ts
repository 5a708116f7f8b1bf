import { assertNever, validInstant } from '../../errors';
import {
  type CloseOutcome,
  type PaidOutcome,
  type PaymentEvidence,
  type QueryOutcome,
  type UnknownOutcome,
} from '../../payments';
import { readPayment } from '../input';
import { type Finding } from './attempt-finding';
import { isBooked, isSettledReport, type PaymentAttempt } from '../payment-attempt';

/** The answers so far, in order. */
export interface Facts {
  readonly query?: QueryOutcome;
  readonly close?: CloseOutcome;
  /** The query after closing. */
  readonly confirmation?: QueryOutcome;
}

/** The next call to the provider, or the end of the look-up. */
export type Step =
  | { readonly type: 'query' }
  | { readonly type: 'close' }
  | { readonly type: 'confirm' }
  | { readonly type: 'conclude'; readonly finding: Finding };

type Asked = Pick<PaymentAttempt, 'status' | 'registered' | 'paidSource' | 'createdAt' | 'timeExpire'>;

/** Margin for a provider's clock, and for a payment page that was opened in the last second. */
const EXPIRY_MARGIN_MS = 60_000;
/**
 * Within 5 minutes of creation, WeChat Pay may confirm a close and leave the attempt open. Such a close is confirmed by
 * another query.
 */
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
  return conclude(confirmed.type === 'UNKNOWN' ? { ...confirmed, isKnownThere: true } : confirmed);
}

/** Pure: reads the query of a reported payment. Nothing is closed, because the order counts on the payment. */
export function readConfirmation(answer: QueryOutcome): Finding {
  switch (answer.type) {
    case 'PAID':
      return readPaid(answer);
    case 'PROCESSING':
    case 'AUTHORIZED':
      return { type: 'IN_PROGRESS', reason: `the provider says ${answer.type}` };
    case 'UNKNOWN':
      return unknown(answer);
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
        return unknown({ reason: 'the provider returned an invalid time' });
      return readNotFound(attempt, answer.providerNow ?? validInstant(now), answer.evidence);
    case 'UNKNOWN':
      return unknown(answer);
    default:
      return assertNever(answer);
  }
}

function afterClose(attempt: Asked, answer: CloseOutcome, now: Date): Step {
  switch (answer.type) {
    case 'CLOSED':
    case 'ALREADY_CLOSED':
      return needsConfirmation(attempt, now) ? { type: 'confirm' } : conclude(closed(answer.type, answer.evidence));
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

/** A close was tried, but the provider says that the attempt is open. */
function stillOpen(close: CloseOutcome): Finding {
  if (close.type === 'UNKNOWN') return unknown({ ...close, reason: `close: ${close.reason}` });
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
  return unknown({ reason: `the provider says PAID, but ${read.problem}`, needsPerson: true });
}

function unknown({ reason, retryAfterMs, needsPerson, paused }: Omit<UnknownOutcome, 'type'>): Finding {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { type: 'UNKNOWN', reason, ...wait, ...(needsPerson && { needsPerson }), ...(paused && { paused }) };
}

function conclude(finding: Finding): Step {
  return { type: 'conclude', finding };
}

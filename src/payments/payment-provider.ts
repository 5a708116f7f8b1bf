import { z } from 'zod';
import { integer, InvalidOptionsError, optionsOf, readOptions, withoutUndefined } from '../errors';

/**
 * The port to one payment provider. An implementation serves all merchant accounts of that provider.
 *
 * The contract. The conformance suite in the test kit verifies what can be tried without a real provider:
 * - Anything not positively recognized in a verified answer is UNKNOWN. A wrong UNKNOWN costs a retry;
 *   a wrong CLOSED costs a buyer's money.
 * - `close` must never refund or cancel a payment. For a paid attempt it returns PAID, and the attempt stays paid.
 * - `close` is idempotent and may be repeated after any outcome.
 * - `refund` is idempotent by `refundNumber`: repeated calls refund the money once.
 * - `transactionId` is unique, and the same in every answer and notification about a payment. Another one under the same
 *   reference is another payment, which is booked as well.
 * - Calls end soon after `signal` aborts, with UNKNOWN or by throwing.
 * - Throwing is allowed and means UNKNOWN to callers that go through ResilientProvider.
 */
export interface PaymentProvider {
  /** Unique name, used in PaymentAttemptRef.provider. */
  readonly name: string;
  /** Looks up the state of the attempt. Changes nothing. */
  query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome>;
  /** Closes the attempt, so that the provider takes no money for it. */
  close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome>;
  /** Refunds money, or reports the state of an earlier call with the same number. */
  refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome>;
  /** Reads what the provider posts to `/payments/{name}/notify`. Absent: the provider posts nothing. */
  readonly notifications?: NotificationReader | undefined;
  /**
   * The merchant account of attempts that name none. Null: attempts must name theirs. Absent: the provider has no
   * merchant accounts.
   */
  readonly defaultAccount?: string | null | undefined;
  /**
   * Whether a part of a payment can be refunded, and the rest later. Absent: the excess of an overpaid order is left to a
   * person.
   */
  readonly refundsInPart?: boolean;
  /** Whether this merchant account is configured. Absent: the provider cannot tell, and every account is accepted. */
  hasAccount?(account: string): boolean;
  /** Default limits for calls to this provider. The host may override them. */
  readonly resilienceDefaults?: ResilienceOptions;
}

/** A payment attempt, as the provider knows it. */
export interface PaymentAttemptRef {
  /** Name of the provider, as in PaymentProviders. */
  readonly provider: string;
  /** The merchant reference at the provider (out_trade_no, intent id). Unique per provider and merchant account. */
  readonly reference: string;
  /** Merchant account at the provider. Absent: the only or default one. */
  readonly merchantAccount?: string;
  /** What the buyer must pay, in minor units of `currency`, as registered. The service converts nothing. */
  readonly amount: bigint;
  /** ISO 4217, upper case. */
  readonly currency: string;
  /** When the attempt was registered. Some providers need more care with a recent attempt. */
  readonly createdAt: Date;
  /** The time after which the provider refuses the buyer, if one was sent to the provider. */
  readonly timeExpire?: Date;
}

/** What the provider said, stored with the history entry that it caused. JSON without secrets. */
export type PaymentEvidence = { readonly [key: string]: unknown };

/** The state is unknown: time-out, outage, or an answer that is unverified or not recognized. Changes no order. */
export interface UnknownOutcome {
  readonly type: 'UNKNOWN';
  /** Why, for logs and operators. Do not parse it. */
  readonly reason: string;
  /** How long to wait before the next try, if the provider or ResilientProvider says so. */
  readonly retryAfterMs?: number;
  /** The provider itself seems to be down (no answer, 5xx). The circuit breaker counts it. */
  readonly outage?: boolean;
  /** The answer was not signed correctly or belongs to another request, so it may be forged. Counted and logged. */
  readonly untrusted?: boolean;
  /** The answer is clear but does not decide the order. Looking up again does not help: a person must decide. */
  readonly needsPerson?: boolean;
  /** @internal An operator has paused the provider, so it was not asked. Such a wait does not use up anything. */
  readonly paused?: boolean;
  readonly evidence?: PaymentEvidence;
}

/** @param more what is undefined in it stays absent */
export function unknown(reason: string, more: UnknownDetails = {}): UnknownOutcome {
  return { type: 'UNKNOWN', reason, ...withoutUndefined(more) };
}

type UnknownDetails = {
  readonly [K in Exclude<keyof UnknownOutcome, 'type' | 'reason'>]?: UnknownOutcome[K] | undefined;
};

/** Longer waits of a Retry-After header are cut to this: it is not signed, so a proxy could delay an order for hours. */
export const MAX_RETRY_AFTER_MS = 60_000;

/** The answer may be forged, or is about something else. */
export function untrusted(reason: string, evidence?: PaymentEvidence): UnknownOutcome {
  return unknown(reason, { untrusted: true, evidence });
}

/** What the state after a close says about it. @param ifOpen the reason why an open payment makes it UNKNOWN */
export function closeOutcomeOf(state: QueryOutcome, ifOpen: string): CloseOutcome {
  const evidence = state.evidence === undefined ? {} : { evidence: state.evidence };
  switch (state.type) {
    case 'CLOSED':
    case 'REFUNDED':
      return { type: 'ALREADY_CLOSED', ...evidence };
    case 'PAID':
      return { type: 'PAID', ...evidence };
    case 'PROCESSING':
    case 'AUTHORIZED':
      return { type: 'IN_PROGRESS', ...evidence };
    case 'OPEN':
      return unknown(ifOpen, evidence);
    case 'NOT_FOUND':
    case 'UNKNOWN':
      return state;
  }
}

/** The provider took the money. The amount is what it took, which may differ from the attempt's amount. */
export interface PaidOutcome {
  readonly type: 'PAID';
  /** Minor units of `currency`. */
  readonly amount: bigint;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly paidAt: Date;
  /** The provider's number of the payment, the same in everything that the provider says about it. */
  readonly transactionId: string;
  readonly evidence: PaymentEvidence;
}

/** The provider has no such payment. Before `timeExpire` plus a margin, this proves nothing. */
export interface NotFoundOutcome {
  readonly type: 'NOT_FOUND';
  /** The time by the provider's clock when it answered, if the verified answer contains it. */
  readonly providerNow?: Date;
  readonly evidence?: PaymentEvidence;
}

/**
 * State of one payment attempt at the provider.
 * - `OPEN`: the buyer can pay now
 * - `PROCESSING`: the buyer is paying, or the money is on its way
 * - `AUTHORIZED`: the money is held but not taken
 * - `PAID`: the money is taken
 * - `CLOSED`: can never take money
 * - `REFUNDED`: was paid, and all of it was refunded
 * - `NOT_FOUND`, `UNKNOWN`
 */
export type QueryOutcome =
  | { readonly type: 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'CLOSED' | 'REFUNDED'; readonly evidence?: PaymentEvidence }
  | PaidOutcome
  | NotFoundOutcome
  | UnknownOutcome;

/**
 * Result of closing a payment attempt at the provider.
 * - `CLOSED`: closed by this call
 * - `ALREADY_CLOSED`: was closed before, possibly by an earlier call whose answer was lost
 * - `PAID`: too late, the buyer has paid; query for the amount
 * - `IN_PROGRESS`: the buyer is paying now; query in 3 to 5 s
 * - `NOT_FOUND`
 * - `UNKNOWN`: it may or may not be closed; query, or close again
 */
export type CloseOutcome =
  | { readonly type: 'CLOSED' | 'ALREADY_CLOSED' | 'PAID' | 'IN_PROGRESS'; readonly evidence?: PaymentEvidence }
  | NotFoundOutcome
  | UnknownOutcome;

/**
 * Result of a refund.
 * - `REFUNDED`: refunded, by this call or an earlier one with the same number
 * - `PENDING`: accepted and on its way; repeat with the same number
 * - `REJECTED`: refused, for example because the balance is too low or the time for refunds is over. A person is told; it is
 *   requested four more times, and when a person replays it
 * - `UNKNOWN`: it may or may not be on its way; repeat with the same number
 */
export type RefundOutcome =
  | { readonly type: 'REFUNDED'; readonly refundId: string; readonly evidence: PaymentEvidence }
  | { readonly type: 'PENDING'; readonly evidence?: PaymentEvidence }
  | { readonly type: 'REJECTED'; readonly reason: string; readonly evidence?: PaymentEvidence }
  | UnknownOutcome;

/** A request as the provider sent it. */
export interface NotificationRequest {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The unparsed body: the signature covers its bytes. */
  readonly rawBody: Buffer;
}

/**
 * A notification that was read.
 * - `PAID`: verified; the provider took the money
 * - `STATUS_CHANGED`: verified; the state of the payment changed, so look it up
 * - `CHARGEBACK`: verified; the buyer's bank takes `amount` back, or asks about the payment. A person is told
 * - `IGNORED`: verified; changes nothing
 * - `REJECTED`: not trusted or not readable; changes nothing
 */
export type Notification =
  | (PaidOutcome & { readonly reference: string; readonly merchantAccount?: string })
  | {
      readonly type: 'STATUS_CHANGED';
      readonly reference: string;
      readonly merchantAccount?: string;
      readonly evidence: PaymentEvidence;
    }
  | {
      readonly type: 'CHARGEBACK';
      readonly reference: string;
      readonly merchantAccount?: string;
      /** Which of several payments under the reference. Absent: the first. */
      readonly transactionId?: string;
      /** In minor units of `currency`. */
      readonly amount: bigint;
      /** ISO 4217, upper case. */
      readonly currency: string;
      readonly evidence: PaymentEvidence;
    }
  | { readonly type: 'IGNORED'; readonly reason: string }
  | { readonly type: 'REJECTED'; readonly reason: string };

/**
 * How to answer the request. `accepted` stops redeliveries. `later` requests a redelivery, because the notification
 * could not be stored. `rejected` is for notifications that are not trusted.
 */
export type NotificationVerdict = 'accepted' | 'later' | 'rejected';

/** An answer in the provider's format. A 4xx counts as a forgery of its sender, so it is for `rejected` alone. */
export interface NotificationReply {
  readonly status: number;
  /** @default 'text/plain' */
  readonly contentType?: string;
  readonly body: string;
}

export function ignored(reason: string): Notification {
  return { type: 'IGNORED', reason };
}

export function rejected(reason: string): Notification {
  return { type: 'REJECTED', reason };
}

/** Reads a provider's notifications. Verifies signature, age, and merchant. Never throws or calls the provider. */
export interface NotificationReader {
  read(request: NotificationRequest): Promise<Notification>;
  reply(verdict: NotificationVerdict): NotificationReply;
}

/** A refund to make. */
export interface RefundRequest {
  /**
   * The attempt that was paid. If its `reference` is `transactionId`, the provider took the money under another reference,
   * which names another payment.
   */
  readonly attempt: PaymentAttemptRef;
  /** The same for every call about this refund. 32 characters of `[0-9a-f]`, which every provider accepts. */
  readonly refundNumber: string;
  /** What to refund, in minor units of `currency`; at most `paidAmount`. */
  readonly amount: bigint;
  /** What the provider took for the attempt. */
  readonly paidAmount: bigint;
  /** The currency of the payment, ISO 4217 in upper case. */
  readonly currency: string;
  /** The provider's number of the payment, if it is known. Prefer it: a reference may have several payments. */
  readonly transactionId?: string;
  /** For the provider's records, at most 80 printable ASCII characters. */
  readonly reason: string;
}

const RATE = 'must be a number from 0.1 to 10000';

const schema = optionsOf({
  timeoutMs: integer(1, 60_000, ' milliseconds').default(5_000),
  maxWaitMs: integer(0, 60_000, ' milliseconds').default(5_000),
  concurrency: integer(1, 1_000).default(32),
  queueLimit: integer(0, 100_000).default(1_000),
  ratePerSecond: z.number(RATE).min(0.1, RATE).max(10_000, RATE).default(100),
  burst: integer(1, 10_000).optional(),
  breakerThreshold: integer(1, 1_000).default(5),
  breakerOpenMs: integer(1, 600_000, ' milliseconds').default(2_000),
}).transform((given) => ({ ...given, burst: given.burst ?? Math.max(1, Math.floor(given.ratePerSecond)) }));

/** Limits for calls to one payment provider. */
export interface ResilienceOptions {
  /** Maximum duration of one call, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
  /**
   * Maximum wait in milliseconds for the rate limit, and again for a slot. Then the outcome is UNKNOWN. @default 5000
   */
  readonly maxWaitMs?: number;
  /** Calls in flight at the same time, for all merchant accounts together. @default 32 */
  readonly concurrency?: number;
  /** Calls that may wait for a slot. Further calls are refused at once. @default 1000 */
  readonly queueLimit?: number;
  /** Calls per second for each merchant account. @default 100 */
  readonly ratePerSecond?: number;
  /** Calls that a merchant account may make at once after a pause. @default ratePerSecond, rounded down, at least 1 */
  readonly burst?: number;
  /** Consecutive outages (no answer, 5xx, exception) after which the provider is not called. @default 5 */
  readonly breakerThreshold?: number;
  /** Milliseconds until one call tests it. After an outage, orders are decided up to this much later. @default 2000 */
  readonly breakerOpenMs?: number;
}

/** @throws InvalidOptionsError with every invalid option, without values: they may be secrets. */
export function parseOptions<S extends z.ZodType>(
  title: string,
  schema: S,
  options: unknown,
  findMore: (parsed: z.output<S>) => readonly string[] = () => [],
): z.output<S> {
  const { success, data, error } = schema.safeParse(options);
  const problems = success
    ? findMore(data)
    : error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  if (!success || problems.length > 0) throw new InvalidOptionsError(title, problems);
  return data;
}

export type ResolvedResilienceOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option of the provider. */
export function resolveResilienceOptions(providerName: string, options: ResilienceOptions): ResolvedResilienceOptions {
  const nameOf = (path: readonly string[]): string => ['resilience', providerName, ...path].join('.');
  const { data, problems } = readOptions(schema, options, [], nameOf);
  if (!data || problems.length > 0) throw new InvalidOptionsError(providerName, problems);
  return Object.freeze(data);
}

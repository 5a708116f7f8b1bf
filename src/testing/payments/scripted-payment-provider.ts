import { z } from 'zod';
import { parseJson } from '../../errors';
import {
  type CloseOutcome,
  type Notification,
  type NotificationReader,
  type NotificationRequest,
  type PaymentAttemptRef,
  type PaymentProvider,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
  type PaidOutcome,
} from '../../payments';

/** A call that the product made. */
export interface ScriptedCall {
  readonly call: keyof PaymentScript;
  readonly reference: string;
}

/** What a buyer pays. By default what the attempt says. */
export interface ScriptedMoney {
  /** Minor units. */
  readonly amount?: bigint;
  /** ISO 4217, upper case. */
  readonly currency?: string;
}

const body = z.object({ reference: z.string(), merchantAccount: z.string().optional() });

/**
 * A payment provider in the process. It keeps books like a real one: a payment is OPEN until the buyer pays, the product
 * closes it, or it is forgotten. `script` puts other answers before them. It never calls anybody.
 */
export class ScriptedPaymentProvider implements PaymentProvider {
  readonly refundsInPart = true;
  readonly notifications: NotificationReader;
  readonly defaultAccount?: string | null | undefined;
  readonly hasAccount?: (account: string) => boolean;
  private made: ScriptedCall[] = [];
  private readonly payments = new Map<string, ScriptedPayment>();
  private readonly scripts = new Map<string, ScriptedAnswers>();

  /** @param original whose merchant accounts it has. */
  constructor(
    readonly name: string,
    original?: Pick<PaymentProvider, 'defaultAccount' | 'hasAccount'>,
  ) {
    if (original?.defaultAccount !== undefined) this.defaultAccount = original.defaultAccount;
    if (original?.hasAccount) this.hasAccount = original.hasAccount.bind(original);
    this.notifications = { read: (request) => this.read(request), reply: replyOf };
  }

  /** All calls so far, oldest first. */
  get calls(): readonly ScriptedCall[] {
    return [...this.made];
  }

  /** The buyer pays. False: the payment is closed, and the buyer was refused. */
  pay(reference: string, money: ScriptedMoney = {}): boolean {
    return this.payment(reference).pay(money);
  }

  /** The provider has never heard of this payment, because creating it failed. */
  forget(reference: string): void {
    this.payment(reference).forget();
  }

  /** Adds answers for the next calls about this payment. */
  script(reference: string, script: PaymentScript): void {
    this.answersAbout(reference).add(script);
  }

  /** Minor units refunded for this payment so far. */
  refunded(reference: string): bigint {
    return this.payment(reference).refundedAmount;
  }

  /**
   * What the provider posts about this payment. It names the money if `pay` did, and otherwise says only that the status has
   * changed, so that the product looks it up. For `orders.handleWebhook`, or as the body of an HTTP request.
   */
  notification(reference: string, merchantAccount?: string): NotificationRequest {
    return { headers: {}, rawBody: Buffer.from(JSON.stringify({ reference, merchantAccount })) };
  }

  /** Forgets all payments, scripts, and calls. */
  clear(): void {
    this.made = [];
    this.payments.clear();
    this.scripts.clear();
  }

  async query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    const { reference } = attempt;
    const scripted = await this.called('query', reference, signal).query.next(signal);
    return scripted ?? this.payment(reference).query(attempt);
  }

  async close({ reference }: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    const scripted = await this.called('close', reference, signal).close.next(signal);
    return scripted ?? this.payment(reference).close();
  }

  async refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    const { reference } = refund.attempt;
    const scripted = await this.called('refund', reference, signal).refund.next(signal);
    return scripted ?? this.payment(reference).refund(refund);
  }

  private called(call: ScriptedCall['call'], reference: string, signal: AbortSignal): ScriptedAnswers {
    this.made.push({ call, reference });
    signal.throwIfAborted();
    return this.answersAbout(reference);
  }

  private answersAbout(reference: string): ScriptedAnswers {
    const known = this.scripts.get(reference) ?? new ScriptedAnswers();
    this.scripts.set(reference, known);
    return known;
  }

  private payment(reference: string): ScriptedPayment {
    const known = this.payments.get(reference) ?? new ScriptedPayment(reference);
    this.payments.set(reference, known);
    return known;
  }

  private async read({ rawBody }: NotificationRequest): Promise<Notification> {
    const parsed = body.safeParse(parseJson(rawBody));
    if (!parsed.success) return { type: 'REJECTED', reason: 'not a notification of the scripted provider' };
    const { reference, merchantAccount } = parsed.data;
    const account = merchantAccount === undefined ? {} : { merchantAccount };
    const paid = this.payment(reference).notice();
    if (paid) return { ...paid, reference, ...account };
    return { type: 'STATUS_CHANGED', reference, evidence: { scripted: true }, ...account };
  }
}

function replyOf(verdict: 'accepted' | 'later' | 'rejected'): { status: number; body: string } {
  return { status: { accepted: 200, later: 503, rejected: 400 }[verdict], body: verdict };
}

interface Paid extends ScriptedMoney {
  readonly at: Date;
}

const evidence = { scripted: true };

/** The books of a scripted provider about one payment. */
class ScriptedPayment {
  private state: 'OPEN' | 'CLOSED' | 'NOT_FOUND' | Paid = 'OPEN';
  /** Minor units, by refund number. */
  private readonly refunds = new Map<string, bigint>();

  constructor(private readonly reference: string) {}

  /** False: it is closed, or does not exist. */
  pay(money: ScriptedMoney): boolean {
    if (this.state !== 'OPEN') return false;
    this.state = { ...money, at: new Date() };
    return true;
  }

  forget(): void {
    this.state = 'NOT_FOUND';
  }

  get refundedAmount(): bigint {
    return [...this.refunds.values()].reduce((sum, amount) => sum + amount, 0n);
  }

  query({ amount, currency }: PaymentAttemptRef): QueryOutcome {
    const { state } = this;
    if (typeof state === 'string') return { type: state, evidence };
    const paid = { amount, currency, ...state };
    if (this.refundedAmount === paid.amount) return { type: 'REFUNDED', evidence };
    const { transactionId } = this;
    return { type: 'PAID', amount: paid.amount, currency: paid.currency, paidAt: state.at, transactionId, evidence };
  }

  /** What the provider posts; undefined: it does not name the money. */
  notice(): PaidOutcome | undefined {
    if (typeof this.state === 'string') return undefined;
    const { amount, currency, at: paidAt } = this.state;
    if (amount === undefined || currency === undefined) return undefined;
    return { type: 'PAID', amount, currency, paidAt, transactionId: this.transactionId, evidence };
  }

  private get transactionId(): string {
    return `scripted-${this.reference}`;
  }

  close(): CloseOutcome {
    const { state } = this;
    if (typeof state === 'object') return { type: 'PAID', evidence };
    if (state === 'NOT_FOUND') return { type: state, evidence };
    this.state = 'CLOSED';
    return { type: state === 'OPEN' ? 'CLOSED' : 'ALREADY_CLOSED', evidence };
  }

  refund({ refundNumber, amount, paidAmount }: RefundRequest): RefundOutcome {
    const { state } = this;
    if (typeof state === 'string') return { type: 'REJECTED', reason: `the payment is ${state}` };
    if (!this.refunds.has(refundNumber)) {
      const left = (state.amount ?? paidAmount) - this.refundedAmount;
      if (amount > left) return { type: 'REJECTED', reason: `only ${left} of the payment can be refunded` };
      this.refunds.set(refundNumber, amount);
    }
    return { type: 'REFUNDED', refundId: `scripted-${refundNumber}`, evidence };
  }
}

/** The answer to one call. An `Error` is thrown, and `'silence'` never comes. */
export type ScriptedAnswer<T> = T | Error | 'silence';

/** The next answers to calls about one payment, in order. After the last one, the provider answers as its books say. */
export interface PaymentScript {
  readonly query?: readonly ScriptedAnswer<QueryOutcome>[];
  readonly close?: readonly ScriptedAnswer<CloseOutcome>[];
  readonly refund?: readonly ScriptedAnswer<RefundOutcome>[];
}

/** The scripted answers to one kind of call that are left. */
class Answers<T> {
  private readonly left: ScriptedAnswer<T>[] = [];

  add(answers: readonly ScriptedAnswer<T>[]): void {
    for (const answer of answers) this.left.push(answer);
  }

  /** Undefined: none is left. @throws the scripted Error, or an error once the signal aborts a silent call. */
  async next(signal: AbortSignal): Promise<T | undefined> {
    const answer = this.left.shift();
    if (answer === 'silence') return aborted(signal);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** The scripted answers about one payment that are left. */
class ScriptedAnswers {
  readonly query = new Answers<QueryOutcome>();
  readonly close = new Answers<CloseOutcome>();
  readonly refund = new Answers<RefundOutcome>();

  add({ query = [], close = [], refund = [] }: PaymentScript): void {
    this.query.add(query);
    this.close.add(close);
    this.refund.add(refund);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error('the provider has not answered'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

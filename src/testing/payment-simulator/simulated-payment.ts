import { type LedgerEntry, type SimulatedStatus } from './ledger-entry';
import { type BuyerScript, type PaymentTerms } from './simulator-input';

/** What the buyer got: payment taken on now, taken on before, or refused. */
export type PayResult = 'accepted' | 'already-accepted' | 'refused';

/** What the ledger does when something happened to a payment. */
export interface PaymentHooks {
  /** The money was taken. */
  paid(payment: SimulatedPayment): void;
  /** `nextEventAt` is new. */
  planned(payment: SimulatedPayment): void;
}

/** What the shop got when it closed. */
export type CloseResult = 'CLOSED' | 'ALREADY_CLOSED' | 'PAID' | 'IN_PROGRESS';

/**
 * One payment and the only place where its money moves. Time is given in (epoch milliseconds) and everything that
 * was due by then happens first, at its own instant, so the outcome does not depend on when a timer fires.
 */
export class SimulatedPayment {
  /** How telling the shop went. */
  readonly notifications = { sent: 0, lost: 0, failed: 0 };
  private status: SimulatedStatus = 'OPEN';
  private paidAt: number | undefined;
  private closedAt: number | undefined;
  private refundedAt: number | undefined;
  private refusedPays = 0;
  private queries = 0;
  private closes = 0;
  private buyerActsAt: number | undefined;
  private settlesAt: number | undefined;

  constructor(
    readonly terms: PaymentTerms,
    private readonly createdAt: number,
    private readonly hooks: PaymentHooks,
  ) {
    this.buyerActsAt = plannedAt(terms.script, createdAt);
  }

  /** When something happens next by itself; undefined: nothing is planned. */
  get nextEventAt(): number | undefined {
    return this.settlesAt ?? this.buyerActsAt;
  }

  /** Lets happen what was due by `now`. */
  advance(now: number): void {
    if (this.buyerActsAt !== undefined && this.buyerActsAt <= now) this.act(this.buyerActsAt);
    if (this.settlesAt !== undefined && this.settlesAt <= now) this.charge(this.settlesAt);
  }

  /** The shop asks. A buyer scripted so pays right after the answer was made. */
  query(now: number): SimulatedStatus {
    this.advance(now);
    this.queries += 1;
    const answer = this.status;
    const { script } = this.terms;
    if (script.buyer === 'pays-after-query' && script.nth === this.queries) this.act(now);
    return answer;
  }

  /** The shop wants no money any more. */
  close(now: number): CloseResult {
    this.advance(now);
    this.closes += 1;
    if (this.status === 'PAID') return 'PAID';
    if (this.status === 'PROCESSING') return 'IN_PROGRESS';
    if (this.status === 'CLOSED' || this.status === 'REFUNDED') return 'ALREADY_CLOSED';
    this.status = 'CLOSED';
    this.closedAt = now;
    return 'CLOSED';
  }

  /** The buyer confirms now. */
  pay(now: number): PayResult {
    this.advance(now);
    if (this.status === 'PAID' || this.status === 'PROCESSING' || this.status === 'AUTHORIZED')
      return 'already-accepted';
    return this.act(now) ? 'accepted' : 'refused';
  }

  /** Somebody gives the money back. @returns false if there was none. */
  refund(now: number): boolean {
    this.advance(now);
    if (this.status !== 'PAID') return false;
    this.status = 'REFUNDED';
    this.refundedAt = now;
    return true;
  }

  /** The truth, by `now`. */
  entry(now: number): LedgerEntry {
    this.advance(now);
    const { reference, orderId, merchantAccount, amount, currency } = this.terms;
    return {
      reference,
      orderId: orderId ?? null,
      merchantAccount: merchantAccount ?? null,
      amount: String(amount),
      currency,
      status: this.status,
      createdAt: new Date(this.createdAt).toISOString(),
      paidAt: iso(this.paidAt),
      closedAt: iso(this.closedAt),
      refundedAt: iso(this.refundedAt),
      transactionId: this.paidAt === undefined ? null : `sim-${reference}`,
      winner: this.paidAt !== undefined ? 'buyer' : this.closedAt !== undefined ? 'shop' : null,
      refusedPays: this.refusedPays,
      queries: this.queries,
      closes: this.closes,
      notifications: { ...this.notifications },
    };
  }

  private act(at: number): boolean {
    this.buyerActsAt = undefined;
    const { timeExpire, script } = this.terms;
    if (this.status !== 'OPEN' || (timeExpire !== undefined && at >= timeExpire)) {
      if (this.status !== 'PAID') this.refusedPays += 1;
      return false;
    }
    if (script.buyer !== 'never' && script.authorizes) this.status = 'AUTHORIZED';
    else if (script.buyer !== 'never' && script.processingMs > 0) {
      this.status = 'PROCESSING';
      this.settlesAt = at + script.processingMs;
      this.hooks.planned(this);
    } else this.charge(at);
    return true;
  }

  private charge(at: number): void {
    this.settlesAt = undefined;
    this.status = 'PAID';
    this.paidAt = at;
    this.hooks.paid(this);
  }
}

function plannedAt(script: BuyerScript, createdAt: number): number | undefined {
  switch (script.buyer) {
    case 'pays-at':
      return script.at;
    case 'pays-after':
      return createdAt + script.ms;
    case 'pays-before-deadline':
      return script.deadline - script.byMs;
    case 'never':
    case 'pays-after-query':
      return undefined;
  }
}

function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

import { Agenda } from './agenda';
import { planBuyer } from './buyer-plan';
import { iso } from './iso';
import { type LedgerEntry, type SimulatedStatus } from './ledger-entry';
import { type PaymentHooks } from './payment-hooks';
import { RefundBook, type RefundOrder, type RefundResult } from './refund-book';
import { type PaymentTerms, type ScriptChange } from './simulator-input';
import { withoutUndefined } from './without-undefined';

/** What the buyer got: payment taken on now, taken on before, or refused. */
export type PayResult = 'accepted' | 'already-accepted' | 'refused';

/** What the shop got when it closed. `NOT_FOUND`: the buyer has not scanned it yet. */
export type CloseResult = 'CLOSED' | 'ALREADY_CLOSED' | 'PAID' | 'IN_PROGRESS' | 'NOT_FOUND';

const ACCEPTED: readonly SimulatedStatus[] = ['PAID', 'PROCESSING', 'AUTHORIZED'];

/** The money that was taken, in minor units. */
interface Taken {
  readonly at: number;
  readonly amount: bigint;
  readonly currency: string;
}

/**
 * One payment and the only place where its money moves. Time is given in (epoch milliseconds) and everything that
 * was due by then happens first, at its own instant, so the outcome does not depend on when a timer fires.
 */
export class SimulatedPayment {
  /** How telling the shop went. */
  readonly notifications = { sent: 0, acknowledged: 0, failed: 0, lost: 0, forged: 0 };
  private readonly agenda = new Agenda(() => this.hooks.planned(this));
  private readonly refunds = new RefundBook(this.agenda, (at) => this.moneyWentBack(at));
  private status: SimulatedStatus = 'OPEN';
  private scannedAt: number | undefined;
  private taken: Taken | undefined;
  private closedAt: number | undefined;
  private refundedAt: number | undefined;
  private disputedAt: number | undefined;
  private refusedPays = 0;
  private queries = 0;
  private closes = 0;

  constructor(
    private current: PaymentTerms,
    private readonly createdAt: number,
    private readonly hooks: PaymentHooks<SimulatedPayment>,
  ) {
    if (current.existsFrom === 'creation') this.scannedAt = createdAt;
    this.refunds.rejectNext(current.rejectRefunds);
    this.plan(createdAt);
  }

  get terms(): PaymentTerms {
    return this.current;
  }

  /** When something happens next by itself; undefined: nothing is planned. */
  get nextEventAt(): number | undefined {
    return this.agenda.nextAt;
  }

  /** Lets happen what was due by `now`. */
  advance(now: number): void {
    this.agenda.runUntil(now);
  }

  /** From now on another script; what it does not name stays as it was. */
  rescript(now: number, change: Omit<ScriptChange, 'faults'>): void {
    this.advance(now);
    this.current = { ...this.current, ...withoutUndefined(change) };
    if (change.rejectRefunds !== undefined) this.refunds.rejectNext(change.rejectRefunds);
    if (change.script) this.plan(now);
  }

  /** The shop asks. A buyer scripted so pays right after the answer was made. */
  query(now: number): SimulatedStatus | 'NOT_FOUND' {
    this.advance(now);
    this.queries += 1;
    const answer = this.scannedAt === undefined ? 'NOT_FOUND' : this.status;
    const { script } = this.current;
    if (script.buyer === 'pays-after-query' && script.nth === this.queries) this.act(now);
    return answer;
  }

  /** The shop wants no money any more. */
  close(now: number): CloseResult {
    this.advance(now);
    this.closes += 1;
    const { script, closeLagMs } = this.current;
    if (script.buyer === 'pays-after-close' && this.closes === 1) this.planPay(now + script.ms);
    if (this.scannedAt === undefined) return 'NOT_FOUND';
    if (this.status === 'PAID') return 'PAID';
    if (this.status === 'PROCESSING') return 'IN_PROGRESS';
    if (this.status === 'CLOSED' || this.status === 'REFUNDED') return 'ALREADY_CLOSED';
    if (closeLagMs === 0) this.end(now);
    else if (!this.agenda.has('close')) this.agenda.plan('close', now + closeLagMs, (at) => this.end(at));
    return 'CLOSED';
  }

  /** The buyer looks at what he is to pay; from now on the provider knows of it. */
  scan(now: number): void {
    this.advance(now);
    this.scannedAt ??= now;
  }

  /** The buyer confirms now. */
  pay(now: number): PayResult {
    this.advance(now);
    if (ACCEPTED.includes(this.status)) return 'already-accepted';
    return this.act(now) ? 'accepted' : 'refused';
  }

  /** The shop wants a refund. The same number again tells how that refund stands. */
  refund(now: number, order: RefundOrder): RefundResult {
    this.advance(now);
    return this.refunds.order(now, order, this.taken?.amount, this.current.refundProcessingMs);
  }

  /** Refunds at once `part` or what is left, directly at the provider. @returns false if there is not that much. */
  refundDirectly(now: number, part?: bigint): boolean {
    this.advance(now);
    return this.taken !== undefined && this.refunds.refundDirectly(now, this.taken.amount, part);
  }

  /** The money of the last refund comes back, for example because the card does not exist anymore. @returns false if there is none. */
  failRefund(now: number): boolean {
    this.advance(now);
    if (!this.refunds.fail()) return false;
    this.status = 'PAID';
    this.refundedAt = undefined;
    this.hooks.happened(this, 'refund-failed');
    return true;
  }

  /** The buyer's bank takes the money back. @returns false if nothing was paid, or if it has done so before. */
  dispute(now: number): boolean {
    this.advance(now);
    if (!this.taken || this.disputedAt !== undefined) return false;
    this.disputedAt = now;
    this.hooks.happened(this, 'disputed');
    return true;
  }

  /** The truth, by `now`. */
  entry(now: number): LedgerEntry {
    this.advance(now);
    const { provider, reference, orderId, merchantAccount, amount, currency } = this.current;
    const { taken } = this;
    return {
      ...{ provider, reference, orderId: orderId ?? null, merchantAccount: merchantAccount ?? null },
      ...{ amount: String(amount), currency, status: this.status },
      ...{ createdAt: new Date(this.createdAt).toISOString(), scannedAt: iso(this.scannedAt) },
      ...{ paidAt: iso(taken?.at), paidAmount: taken ? String(taken.amount) : null },
      ...{ paidCurrency: taken?.currency ?? null, transactionId: taken ? transactionIdOf(reference) : null },
      ...{ closedAt: iso(this.closedAt), refundedAt: iso(this.refundedAt) },
      ...{ refundedAmount: String(this.refunds.givenBack), refunds: this.refunds.entries() },
      disputedAt: iso(this.disputedAt),
      winner: taken ? 'buyer' : this.closedAt !== undefined ? 'shop' : null,
      ...{ refusedPays: this.refusedPays, queries: this.queries, closes: this.closes },
      notifications: { ...this.notifications },
    };
  }

  private plan(from: number): void {
    const { scansAt, paysAt } = planBuyer(this.current.script, from);
    this.agenda.cancel('scan', 'buyer');
    if (scansAt !== undefined) this.agenda.plan('scan', scansAt, (at) => (this.scannedAt ??= at));
    if (paysAt !== undefined) this.planPay(paysAt);
  }

  private planPay(paysAt: number): void {
    this.agenda.plan('buyer', paysAt, (at) => this.act(at));
  }

  private act(at: number): boolean {
    this.agenda.cancel('buyer');
    if (!this.isPayable(at)) {
      if (this.status !== 'PAID') this.refusedPays += 1;
      return false;
    }
    // A close in its lag loses against the buyer.
    this.agenda.cancel('close');
    this.scannedAt ??= at;
    const { authorizes, processingMs } = this.current.script;
    if (authorizes) this.status = 'AUTHORIZED';
    else if (processingMs === 0) this.charge(at);
    else {
      this.status = 'PROCESSING';
      this.agenda.plan('settle', at + processingMs, (settledAt) => this.charge(settledAt));
    }
    return true;
  }

  private isPayable(at: number): boolean {
    const { timeExpire, closeLies } = this.current;
    if (timeExpire !== undefined && at >= timeExpire) return false;
    return this.status === 'OPEN' || (this.status === 'CLOSED' && closeLies);
  }

  private charge(at: number): void {
    const { amount, currency, partialAmount, paidCurrency } = this.current;
    this.status = 'PAID';
    this.taken = { at, amount: partialAmount ?? amount, currency: paidCurrency ?? currency };
    this.hooks.happened(this, 'paid');
  }

  private end(at: number): void {
    this.status = 'CLOSED';
    this.closedAt = at;
    this.hooks.happened(this, 'closed');
  }

  private moneyWentBack(at: number): void {
    if (this.refunds.givenBack === this.taken?.amount) {
      this.status = 'REFUNDED';
      this.refundedAt = at;
    }
    this.hooks.happened(this, 'refunded');
  }
}

const TRANSACTION = 'sim-';

function transactionIdOf(reference: string): string {
  return `${TRANSACTION}${reference}`;
}

/** The reference of the payment with this number. */
export function referenceOf(transactionId: string): string {
  return transactionId.startsWith(TRANSACTION) ? transactionId.slice(TRANSACTION.length) : '';
}

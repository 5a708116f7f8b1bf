import { type CloseOutcome, type PaidOutcome, type QueryOutcome } from '../../src/payments';

type State = 'absent' | 'open' | 'processing' | 'paid' | 'closed';

/** How one attempt behaves at its provider. Times in milliseconds since 1970, waits in milliseconds. */
export interface PaymentTraits {
  readonly reference: string;
  /** The provider's own name of the payment, under which it is known as well; as the intent behind a session. */
  readonly intent?: string;
  readonly currency: string;
  /** The limit that we sent; null: none, the provider would take the money forever. */
  readonly timeExpire: number | null;
  /** False: the payment exists from when the buyer scans it, as with Alipay. */
  readonly existsAtOnce: boolean;
  /** A page that was opened before the limit takes money so long after it. */
  readonly toleranceMs: number;
  /** The first so many closes are answered with CLOSED and forgotten. */
  readonly lies: number;
  /** A close takes effect so long after its answer. */
  readonly closeLagMs: number;
  /** A buyer who was on the page when it was closed can still pay. */
  readonly leaksAfterClose: boolean;
}

/** Money that the provider took at once: one transaction. Most payments have one, those of a bank account may have more. */
export class Unit {
  /** What the provider has given back. */
  refunded = 0n;
  /** What a person has given back past the provider. */
  paidBack = 0n;
  /** Whether a refund of it has come back. */
  hasComeBack = false;
  /** Whether the service was told of it, by a notification or by an answer. */
  isHeard = false;
  /** Whether it was told under the reference with which its payment was made, which is all that an attempt has. */
  isNamed = false;

  constructor(
    readonly transactionId: string,
    readonly amount: bigint,
    readonly currency: string,
    readonly atMs: number,
  ) {}

  get held(): bigint {
    return this.amount - this.refunded - this.paidBack;
  }
}

interface MadeRefund {
  readonly amount: bigint;
  readonly unit: Unit;
}

/** The truth about one attempt: what the provider did with it, known to anyone or not. */
export class ProviderPayment {
  readonly units: Unit[] = [];
  /** By refund number. */
  readonly refunds = new Map<string, MadeRefund>();
  private state: State;
  private wasOpened = false;
  private lies: number;
  private readonly past: { readonly atMs: number; readonly state: State }[] = [];

  constructor(
    readonly traits: PaymentTraits,
    /** The order that its buyer means to pay. */
    readonly owner: string,
    createdMs: number,
  ) {
    this.state = traits.existsAtOnce ? 'open' : 'absent';
    this.lies = traits.lies;
    this.past.push({ atMs: createdMs, state: this.state });
  }

  /** The first money; a second transaction is told of, but never looked up. */
  get taken(): Unit | undefined {
    return this.units[0];
  }

  get heldAmount(): bigint {
    let held = 0n;
    for (const unit of this.units) held += unit.held;
    return held;
  }

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  /** The buyer opens the page. */
  scan(nowMs: number): void {
    const { timeExpire } = this.traits;
    if (timeExpire !== null && nowMs >= timeExpire) return;
    if (this.state === 'absent') this.become('open', nowMs);
    if (this.state === 'open') this.wasOpened = true;
  }

  /** The buyer enters the password. False: the provider refuses. */
  beginPaying(nowMs: number): boolean {
    const { timeExpire, toleranceMs, leaksAfterClose } = this.traits;
    const isLetIn = this.state === 'open' || (this.state === 'closed' && this.wasOpened && leaksAfterClose);
    if (!isLetIn || !this.wasOpened || (timeExpire !== null && nowMs >= timeExpire + toleranceMs)) return false;
    // One who slips in after the close is not seen before the money is there.
    if (this.state === 'open') this.become('processing', nowMs);
    return true;
  }

  endPaying(amount: bigint, currency: string, nowMs: number): Unit {
    const name = this.traits.intent ?? `t-${this.traits.reference}`;
    const unit = new Unit(this.units.length === 0 ? name : `${name}-${this.units.length + 1}`, amount, currency, nowMs);
    this.units.push(unit);
    this.become('paid', nowMs);
    return unit;
  }

  failPaying(nowMs: number): void {
    if (this.state === 'processing') this.become('open', nowMs);
  }

  /** `asOfMs`: the provider answers from a copy that is so old. */
  query(asOfMs: number, providerNow: Date | undefined): QueryOutcome {
    const state = this.past.findLast(({ atMs }) => atMs <= asOfMs)?.state ?? 'absent';
    switch (state) {
      case 'absent':
        return { type: 'NOT_FOUND', ...(providerNow ? { providerNow } : {}) };
      case 'open':
        return { type: 'OPEN' };
      case 'processing':
        return { type: 'PROCESSING' };
      case 'closed':
        return { type: 'CLOSED' };
      case 'paid':
        return this.refunds.size > 0 ? { type: 'REFUNDED' } : this.paidOutcome();
    }
  }

  /** @param later does something after a while. */
  close(nowMs: number, later: (ms: number, run: (nowMs: number) => void) => void): CloseOutcome {
    switch (this.state) {
      case 'absent':
        return { type: 'NOT_FOUND' };
      case 'processing':
        return { type: 'IN_PROGRESS' };
      case 'paid':
        return { type: 'PAID' };
      case 'closed':
        return { type: 'ALREADY_CLOSED' };
      case 'open':
        if (this.lies-- > 0) return { type: 'CLOSED' };
        if (this.traits.closeLagMs === 0) this.become('closed', nowMs);
        else later(this.traits.closeLagMs, (at) => this.state === 'open' && this.become('closed', at));
        return { type: 'CLOSED' };
    }
  }

  /** False: there is not so much to refund. The same number again changes nothing. */
  refund(number: string, amount: bigint, transactionId?: string): boolean {
    if (this.refunds.has(number)) return true;
    const named = this.units.find((unit) => unit.transactionId === transactionId);
    // What a person has paid back by wire is still there, for the provider.
    const unit = [...(named ? [named] : []), ...this.units].find((one) => one.amount - one.refunded >= amount);
    if (!unit) return false;
    unit.refunded += amount;
    this.refunds.set(number, { amount, unit });
    return true;
  }

  /** The bank has sent it back: the money is here again. */
  failRefund(number: string): void {
    const made = this.refunds.get(number);
    if (!made) return;
    made.unit.refunded -= made.amount;
    made.unit.hasComeBack = true;
    this.refunds.delete(number);
  }

  paidOutcome(unit = this.taken): PaidOutcome {
    if (!unit) throw new Error(`${this.traits.reference} is not paid`);
    const { amount, currency, atMs, transactionId } = unit;
    return { type: 'PAID', amount, currency, paidAt: new Date(atMs), transactionId, evidence: {} };
  }

  private become(state: State, nowMs: number): void {
    this.state = state;
    this.past.push({ atMs: nowMs, state });
  }
}

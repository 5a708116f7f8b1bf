import {
  type CloseOutcome,
  type PaidOutcome,
  type PaymentAttemptRef,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
} from '../../payments';

interface Paid {
  readonly amount?: bigint;
  readonly currency?: string;
  readonly at: Date;
}

const evidence = { scripted: true };

/** The books of a scripted provider about one payment. */
export class ScriptedPayment {
  private state: 'OPEN' | 'CLOSED' | 'NOT_FOUND' | Paid = 'OPEN';
  /** Minor units, by refund number. */
  private readonly refunds = new Map<string, bigint>();

  constructor(private readonly reference: string) {}

  /** False: it is closed, or does not exist. */
  pay(money: { readonly amount?: bigint; readonly currency?: string }): boolean {
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

import {
  type CloseOutcome,
  type PaymentProvider,
  type QueryOutcome,
  type RefundOutcome,
} from 'nestjs-order-timeout/payments';

/** A bank at which the buyer never pays. */
export class Bank implements PaymentProvider {
  readonly name = 'bank';
  private readonly closed = new Set<string>();

  async query({ reference }: { reference: string }): Promise<QueryOutcome> {
    return { type: this.closed.has(reference) ? 'CLOSED' : 'OPEN' };
  }

  async close({ reference }: { reference: string }): Promise<CloseOutcome> {
    if (this.closed.has(reference)) return { type: 'ALREADY_CLOSED' };
    this.closed.add(reference);
    return { type: 'CLOSED' };
  }

  async refund(): Promise<RefundOutcome> {
    return { type: 'REJECTED', reason: 'nobody has paid' };
  }
}

import { type DataSource } from 'typeorm';
import {
  type CloseOutcome,
  type PaymentAttemptRef,
  type PaymentProvider,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
} from '../../../src/payments';

type Answer<T> = T | ((attempt: PaymentAttemptRef) => T | Promise<T>);

/** A provider that answers as the test tells it, and can detect whether it is called inside a transaction. */
export class FakeProvider implements PaymentProvider {
  refundsInPart = true;
  readonly calls: string[] = [];
  /** Every requested refund, including repetitions. */
  readonly refunds: RefundRequest[] = [];
  private readonly refundAnswers = new Map<string, RefundOutcome>();
  private readonly queries = new Map<string, Answer<QueryOutcome>>();
  private readonly closes = new Map<string, Answer<CloseOutcome>>();
  private readonly closed = new Set<string>();

  constructor(
    readonly name: string,
    private readonly dataSource: DataSource,
  ) {}

  /** Without a scripted answer, an attempt is OPEN until it is closed. */
  answerQuery(reference: string, answer: Answer<QueryOutcome>): void {
    this.queries.set(reference, answer);
  }

  answerClose(reference: string, answer: Answer<CloseOutcome>): void {
    this.closes.set(reference, answer);
  }

  /** Without a scripted answer, a refund is REFUNDED. */
  answerRefund(reference: string, answer: RefundOutcome | undefined): void {
    if (answer) this.refundAnswers.set(reference, answer);
    else this.refundAnswers.delete(reference);
  }

  /** Opens a closed attempt again. */
  reopen(reference: string): void {
    this.closed.delete(reference);
  }

  paid(reference: string, amount = 1_999n, currency = 'EUR'): void {
    const evidence = { fake: true };
    const outcome = {
      type: 'PAID',
      amount,
      currency,
      paidAt: new Date(),
      transactionId: `t-${reference}`,
      evidence,
    } as const;
    this.answerQuery(reference, outcome);
    this.answerClose(reference, { type: 'PAID' });
  }

  async query(attempt: PaymentAttemptRef): Promise<QueryOutcome> {
    this.calls.push(`query ${attempt.reference}`);
    const answer = this.queries.get(attempt.reference);
    if (answer) return typeof answer === 'function' ? answer(attempt) : answer;
    return { type: this.closed.has(attempt.reference) ? 'CLOSED' : 'OPEN' };
  }

  async close(attempt: PaymentAttemptRef): Promise<CloseOutcome> {
    this.calls.push(`close ${attempt.reference}`);
    const answer = this.closes.get(attempt.reference);
    if (answer) return typeof answer === 'function' ? answer(attempt) : answer;
    this.closed.add(attempt.reference);
    return { type: 'CLOSED' };
  }

  async refund(request: RefundRequest): Promise<RefundOutcome> {
    this.refunds.push(request);
    const answer = this.refundAnswers.get(request.attempt.reference);
    return answer ?? { type: 'REFUNDED', refundId: `r-${request.refundNumber}`, evidence: { fake: true } };
  }

  /** The number of open transactions in this database during a call of the provider. */
  async openTransactions(): Promise<number> {
    const [row] = await this.dataSource.query<{ count: string }[]>(
      `SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    );
    return Number(row?.count);
  }
}

import { type AskProviders } from './ask-providers';
import { type AttemptFinding } from './attempt-finding';
import { type MarkPaid } from './mark-paid';
import { type OrderStore } from './order-store';
import { type OrderView } from './order-view';
import { type ReadOrder } from './read-order';
import { OPEN_STATUSES } from './payment-attempt';
import { type ActionContext, BY_API } from './transition-cause';

/** One provider time-out (5 s) and some reserve: a person is waiting for this answer. */
const PATIENCE_MS = 8_000;

/**
 * Asks the providers of an order's open attempts whether it is paid, without waiting for the deadline: for the page
 * that the buyer comes back to. Closes nothing; an order that is overdue is woken, and closes by the usual way.
 */
export class CheckPayment {
  constructor(
    private readonly store: OrderStore,
    private readonly providers: AskProviders,
    private readonly markPaid: MarkPaid,
    private readonly readOrder: ReadOrder,
  ) {}

  /** The order after the check; undefined: there is no such order. A provider that does not answer changes nothing. */
  async execute(
    orderId: string,
    by: ActionContext = BY_API,
    signal: AbortSignal = AbortSignal.timeout(PATIENCE_MS),
  ): Promise<OrderView | undefined> {
    const { now, attempts } = await this.store.attemptsOf(orderId, OPEN_STATUSES);
    for (const found of await this.providers.query(attempts, now, signal)) await this.book(orderId, found, by);
    return this.readOrder.execute(orderId);
  }

  private async book(
    orderId: string,
    { provider, reference, finding }: AttemptFinding,
    by: ActionContext,
  ): Promise<void> {
    if (finding.type !== 'PAID') return;
    const { amount, currency, paidAt, transactionId, evidence } = finding;
    const payment = { orderId, provider, reference, amount, currency, paidAt, transactionId, evidence };
    await this.markPaid.execute(payment, by);
  }
}

import { type PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { type MarkPaid } from './mark-paid';
import { paymentFound } from './reported-payment';
import { type OrderStore } from '../sql/order-store';
import { type OrderView } from '../order-view';
import { canTakeMoney } from '../payment-attempt';
import { type ReadOrder } from '../read/read-order';
import { type ActionContext, BY_API } from '../transition-cause';

/** One provider time-out (5 s) and some reserve: a person is waiting for this answer. */
const PATIENCE_MS = 8_000;

/** `PROVIDER_NOT_CONFIGURED`: nobody could be asked about some open attempt; what the others said is booked. */
export type CheckPaymentResult =
  | { readonly outcome: 'checked'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'PROVIDER_NOT_CONFIGURED'; readonly provider: string };

/**
 * Asks the providers of an order's open attempts whether it is paid, without waiting for the deadline: for the page
 * that the buyer comes back to. Closes nothing; an order that is overdue is woken, and closes by the usual way.
 */
export class CheckPayment {
  constructor(
    private readonly store: OrderStore,
    private readonly providers: PaymentLookups,
    private readonly markPaid: MarkPaid,
    private readonly readOrder: ReadOrder,
  ) {}

  /** The order after the check. A provider that does not answer changes nothing. */
  async execute(
    orderId: string,
    by: ActionContext = BY_API,
    signal: AbortSignal = AbortSignal.timeout(PATIENCE_MS),
  ): Promise<CheckPaymentResult> {
    const { now, attempts } = await this.store.attemptsOf(orderId, canTakeMoney);
    const findings = await this.providers.query(attempts, now, signal);
    for (const found of findings) await this.book(orderId, found, by);
    const order = await this.readOrder.execute(orderId);
    if (!order) return { outcome: 'rejected', code: 'ORDER_NOT_FOUND' };
    const unasked = findings.find(({ finding }) => finding.type === 'NO_PROVIDER');
    if (!unasked || order.status === 'PAID') return { outcome: 'checked', order };
    return { outcome: 'rejected', code: 'PROVIDER_NOT_CONFIGURED', provider: unasked.provider };
  }

  private async book(orderId: string, { finding, ...key }: AttemptFinding, by: ActionContext): Promise<void> {
    if (finding.type === 'PAID') {
      const account = key.merchantAccount;
      await this.markPaid.confirm(paymentFound(orderId, key, finding), by, { account });
    }
  }
}

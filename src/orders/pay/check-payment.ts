import { type PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { type MarkPaid } from './mark-paid';
import { paymentFound } from './reported-payment';
import { type OrderStore } from '../sql/order-store';
import { type OrderView } from '../order-view';
import { accountOfAttempt, canTakeMoney } from '../payment-attempt';
import { type ReadOrder } from '../read/read-order';
import { type LookUpOptions } from '../action-options';
import { type ActionContext, contextOf } from '../transition-cause';

/** One provider time-out (5 s) and a reserve, because a person waits for this response. */
const PATIENCE_MS = 8_000;

/** `PROVIDER_NOT_CONFIGURED`: an open attempt could not be looked up. The answers about the others are booked. */
export type CheckPaymentResult =
  | { readonly outcome: 'checked'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'PROVIDER_NOT_CONFIGURED'; readonly provider: string };

/**
 * Looks up the open attempts of an order before its deadline, for the page that the buyer returns to. It closes
 * nothing. An overdue order is woken and closes in the usual way.
 */
export class CheckPayment {
  constructor(
    private readonly store: OrderStore,
    private readonly providers: PaymentLookups,
    private readonly markPaid: MarkPaid,
    private readonly readOrder: ReadOrder,
  ) {}

  /** Returns the order after the look-ups. A provider that does not respond changes nothing. */
  async execute(
    orderId: string,
    { by, signal = AbortSignal.timeout(PATIENCE_MS) }: LookUpOptions = {},
  ): Promise<CheckPaymentResult> {
    const { now, attempts } = await this.store.attemptsOf(orderId, canTakeMoney);
    const findings = await this.providers.query(attempts, now, signal);
    for (const found of findings) await this.book(orderId, found, contextOf(by));
    const order = await this.readOrder.execute(orderId);
    if (!order) return { outcome: 'rejected', code: 'ORDER_NOT_FOUND' };
    const unasked = findings.find(({ finding }) => finding.type === 'NO_PROVIDER');
    if (!unasked || order.status === 'PAID') return { outcome: 'checked', order };
    return { outcome: 'rejected', code: 'PROVIDER_NOT_CONFIGURED', provider: unasked.provider };
  }

  private async book(orderId: string, { finding, ...key }: AttemptFinding, by: ActionContext): Promise<void> {
    if (finding.type === 'PAID') {
      const account = accountOfAttempt(key);
      await this.markPaid.confirm(paymentFound(orderId, key, finding), by, { account });
    }
  }
}

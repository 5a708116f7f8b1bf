import { type CancelOrder } from '../close/cancel-order';
import { type ExtendDeadline } from '../deadline/extend-deadline';
import { type Actor } from '../transition-cause';
import { byOperator } from './by-operator';
import { type BulkExtension, type BulkRequest, type BulkResult } from './bulk-request';
import { type BulkRun } from './bulk-run';
import { type CloseOrder } from './close-order';
import { checkBulk } from '../input/check-bulk';

/** Who acts. An action on many orders must have a name in their histories. */
export interface BulkOptions {
  readonly by: Actor & { readonly actor: string };
}

/**
 * Operator actions on all orders of a filter, for example after an outage of a provider. Get it from `orders.bulk`.
 *
 * A call handles at most 1000 orders or takes about ten seconds, and returns `next`. Call again with it as `cursor` until
 * it is null. Each order is changed in a transaction of its own, by the rules of the single action, and once: you may
 * repeat any call. Orders that are placed after the first call are left out.
 *
 * All methods throw `InvalidOrderError` if the request is malformed or names no actor. Nothing was written then.
 */
export class BulkActions {
  /** @internal Nest creates it. */
  constructor(
    private readonly run: BulkRun,
    private readonly extending: ExtendDeadline,
    private readonly cancelling: CancelOrder,
    private readonly closing: CloseOrder,
  ) {}

  /** Moves the deadlines of PENDING orders, even of overdue ones. */
  async extend(request: BulkExtension, options: BulkOptions): Promise<BulkResult> {
    checkBulk('bulkExtension', request, options);
    const { byMs, expiresAt, reason, actionId } = request;
    const by = byOperator(options.by);
    return this.run.execute(request, ['PENDING'], (orderId, tx) =>
      this.extending.executeOnce({ orderId, byMs, expiresAt, reason }, actionId, { by, tx }),
    );
  }

  /** Cancels orders that are not decided yet. */
  async cancel(request: BulkRequest, options: BulkOptions): Promise<BulkResult> {
    checkBulk('bulk', request, options);
    const by = byOperator(options.by);
    return this.run.execute(request, ['PENDING', 'CLOSING'], (orderId, tx) =>
      this.cancelling.execute({ orderId, reason: request.reason }, { by, tx }),
    );
  }

  /** Closes unpaid orders now. Their open attempts are closed at the providers first. */
  async close(request: BulkRequest, options: BulkOptions): Promise<BulkResult> {
    checkBulk('bulk', request, options);
    return this.run.execute(request, ['PENDING', 'CLOSING'], (orderId, tx) =>
      this.closing.execute({ orderId, reason: request.reason }, { by: options.by, tx }),
    );
  }
}

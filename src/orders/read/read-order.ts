import { type DataSource } from 'typeorm';
import { onOwnConnection, STATEMENT_MS } from '../../database';
import { type TimeoutScheduler } from '../../timeouts';
import { paymentTimeout } from '../order-timeouts';
import { type OrderView } from '../order-view';
import { ReadViews } from '../sql/read-views';
import { isOverdue } from './is-overdue';

/**
 * Reads an order. Expiry is computed from the database's clock, so the answer is right even if the closing is behind.
 * An overdue order that has not been handled is handled now, in the background.
 */
export class ReadOrder {
  private readonly views: ReadViews;

  constructor(
    private readonly dataSource: DataSource,
    private readonly scheduler: TimeoutScheduler,
    schema: string,
  ) {
    this.views = new ReadViews(schema);
  }

  /** Uses one statement. Undefined: there is no such order. */
  async execute(orderId: string): Promise<OrderView | undefined> {
    const views = await onOwnConnection(this.dataSource, STATEMENT_MS, ({ manager }) =>
      this.views.execute(manager, [orderId]),
    );
    const found = views.get(orderId);
    if (found && isOverdue(found)) this.scheduler.wake([paymentTimeout(orderId)], 'passive');
    return found?.view;
  }
}

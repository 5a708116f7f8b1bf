import { Counter, type Registry } from 'prom-client';
import { type Purge } from '../orders';

/** Counts what this process has purged. */
export class PurgeMetrics {
  constructor(registry: Registry, purge: Purge) {
    new Counter({
      name: 'order_timeout_purged_total',
      help: 'Finished orders (with their data), idempotency keys, and settled payments that were deleted',
      labelNames: ['what'],
      registers: [registry],
      collect() {
        this.reset();
        const { orders, idempotencyKeys, settledMoney } = purge.totals;
        this.inc({ what: 'orders' }, orders);
        this.inc({ what: 'idempotency-keys' }, idempotencyKeys);
        this.inc({ what: 'settled-money' }, settledMoney);
      },
    });
  }
}

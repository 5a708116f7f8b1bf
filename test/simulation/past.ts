import { type ClaimFact } from '../support/checks/money-checks';
import { Records } from '../support/checks/records';
import { type Kernel } from './kernel';

/** An order as it was when its retention ended. */
interface PastOrder {
  readonly id: string;
  readonly status: string;
}

/** What the tables said before the purge, so that what it deletes still counts. */
export class Past {
  private readonly orders = new Map<string, PastOrder>();
  private readonly claims: ClaimFact[] = [];
  private readonly erasedIds = new Set<string>();

  async remember(kernel: Kernel): Promise<void> {
    for (const order of await kernel.query<PastOrder>('SELECT id, status FROM order_timeout.orders'))
      this.orders.set(order.id, order);
    for (const id of await erasedOrders(kernel)) this.erasedIds.add(id);
    this.claims.push(...(await recordsOf(kernel).money()).claims);
  }

  /** Those that the purge has deleted. */
  async gone(
    kernel: Kernel,
  ): Promise<{ readonly orders: readonly PastOrder[]; readonly claims: readonly ClaimFact[] }> {
    const left = new Set(
      (await kernel.query<{ id: string }>('SELECT id FROM order_timeout.orders')).map(({ id }) => id),
    );
    return {
      orders: [...this.orders.values()].filter(({ id }) => !left.has(id)),
      claims: this.claims.filter(({ orderId }) => !left.has(orderId)),
    };
  }

  /** Those whose payments no table names any more, also if they are purged since. */
  async erased(kernel: Kernel): Promise<ReadonlySet<string>> {
    return new Set([...this.erasedIds, ...(await erasedOrders(kernel))]);
  }
}

export function recordsOf(kernel: Kernel): Records {
  return Records.on(<T>(sql: string) => kernel.query(sql) as Promise<T>);
}

async function erasedOrders(kernel: Kernel): Promise<string[]> {
  const rows = await kernel.query<{ id: string }>('SELECT id FROM order_timeout.orders WHERE erased_at IS NOT NULL');
  return rows.map(({ id }) => id);
}

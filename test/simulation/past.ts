import { type ClaimFact } from '../support/checks/money-checks';
import { Records } from '../support/checks/records';
import { type Kernel } from './kernel';

/** An order as it was when its retention ended. */
interface PastOrder {
  readonly id: string;
  readonly status: string;
}

export interface PastFacts {
  /** Orders that the purge has deleted. */
  readonly gone: readonly PastOrder[];
  /** Those whose payments no table names any more, also if they are purged since. */
  readonly erased: ReadonlySet<string>;
  /** What purged orders counted on, and erased ones under its old names. */
  readonly claims: readonly ClaimFact[];
}

/** What the tables said before the purge, so that what it deletes still counts. */
export class Past {
  private readonly orders = new Map<string, PastOrder>();
  private readonly claims: ClaimFact[] = [];
  private readonly erasedIds = new Set<string>();
  private readonly erasedClaims: ClaimFact[] = [];

  async remember(kernel: Kernel): Promise<void> {
    for (const order of await kernel.query<PastOrder>('SELECT id, status FROM order_timeout.orders'))
      this.orders.set(order.id, order);
    for (const id of await erasedOrders(kernel)) this.erasedIds.add(id);
    this.claims.push(...(await confirmedClaims(kernel)));
  }

  /** What the order has now. Its erasure changes the names. */
  async rememberClaims(kernel: Kernel, id: string): Promise<void> {
    const claims = await confirmedClaims(kernel);
    const isNew = !this.erasedClaims.some(({ orderId }) => orderId === id);
    if (isNew) this.erasedClaims.push(...claims.filter(({ orderId }) => orderId === id));
  }

  /** What the tables say no more. */
  async facts(kernel: Kernel): Promise<PastFacts> {
    const rows = await kernel.query<{ id: string }>('SELECT id FROM order_timeout.orders');
    const left = new Set(rows.map(({ id }) => id));
    const erased = new Set([...this.erasedIds, ...(await erasedOrders(kernel))]);
    return {
      gone: [...this.orders.values()].filter(({ id }) => !left.has(id)),
      erased,
      claims: [
        ...this.claims.filter(({ orderId }) => !left.has(orderId)),
        ...this.erasedClaims.filter(({ orderId }) => erased.has(orderId)),
      ],
    };
  }
}

export function recordsOf(kernel: Kernel): Records {
  return Records.on(<T>(sql: string) => kernel.query(sql) as Promise<T>);
}

/** What the product calls the payments of an order whose personal data was erased. */
export function isErasedName(reference: string): boolean {
  return reference.startsWith('erased:');
}

/** The first word of a provider about what was only reported is told to a person, also if its order is gone. */
async function confirmedClaims(kernel: Kernel): Promise<ClaimFact[]> {
  const reported = await kernel.query<{ reference: string }>(
    "SELECT reference FROM order_timeout.payment_attempt WHERE paid_source = 'report'",
  );
  const names = new Set(reported.map(({ reference }) => reference));
  const { claims } = await recordsOf(kernel).money();
  return claims.filter(({ reference }) => !names.has(reference) && !isErasedName(reference));
}

async function erasedOrders(kernel: Kernel): Promise<string[]> {
  const rows = await kernel.query<{ id: string }>('SELECT id FROM order_timeout.orders WHERE erased_at IS NOT NULL');
  return rows.map(({ id }) => id);
}

import { importPending, type PendingOrder } from '../../examples/moving/import-pending';
import { type DueTimeout, TimeoutHandler } from '../../src/timeouts';
import { createDatabase, type TestDatabase } from './database';
import { startEngine, type TestEngine } from './engine';

const KIND = 'shop.close-order';

@TimeoutHandler(KIND)
class CloseOrder {
  readonly closed: string[] = [];

  async handle({ key }: DueTimeout): Promise<void> {
    this.closed.push(key);
  }
}

/** An application that takes over the deadlines of another tool, as docs/moving says. */
export class ImportTarget {
  private constructor(
    readonly database: TestDatabase,
    private readonly engine: TestEngine,
    private readonly handler: CloseOrder,
  ) {}

  static async open(): Promise<ImportTarget> {
    const database = await createDatabase();
    const handler = new CloseOrder();
    const engine = await startEngine(database, 'amqp://127.0.0.1:1', [handler], { transport: 'none' });
    return new ImportTarget(database, engine, handler);
  }

  import(pages: AsyncIterable<readonly PendingOrder[]>): Promise<number> {
    return importPending(this.engine.scheduler, KIND, pages);
  }

  /** The orders that have a deadline, by id. */
  async pending(): Promise<PendingOrder[]> {
    return this.database.dataSource.query(
      `SELECT key AS "orderId", due_at AS "dueAt" FROM order_timeout.timeout WHERE kind = $1 ORDER BY key COLLATE "C"`,
      [KIND],
    );
  }

  /** The ids of orders whose deadline has come. */
  get closed(): readonly string[] {
    return this.handler.closed;
  }

  async forget(): Promise<void> {
    await this.database.dataSource.query('DELETE FROM order_timeout.timeout');
    this.handler.closed.length = 0;
  }

  async close(): Promise<void> {
    await this.engine.close();
    await this.database.drop();
  }
}

/** More than two pages of orders, due one second apart from each other, from ten minutes on. */
export function pendingOrders(count = 2_500): PendingOrder[] {
  const firstAt = Date.now() + 600_000;
  return Array.from({ length: count }, (_, index) => ({
    orderId: `o-${String(index).padStart(5, '0')}`,
    dueAt: new Date(firstAt + index * 1_000),
  }));
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Ring } from '../contestant';

/** One index look-up, four times a second: it must not be felt. */
const POLL_MS = 250;

/** The benchmark's own view of the orders of one run, and its only clock: the database's. */
export class RunBooks {
  private constructor(
    private readonly client: Client,
    private readonly ring: Ring,
  ) {}

  static async open(ring: Ring): Promise<RunBooks> {
    const client = new Client({ connectionString: ring.databaseUrl });
    // When the benchmark is ended the server goes first; the query that waits says so.
    client.on('error', () => undefined);
    await client.connect();
    return new RunBooks(client, ring);
  }

  close(): Promise<void> {
    return this.client.end();
  }

  async query<T>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return (await this.client.query(sql, [...values])).rows as T[];
  }

  /** The server's own time to execute the statement, in milliseconds: neither planning nor the way to the client. */
  async executionMs(sql: string, values: readonly unknown[]): Promise<number> {
    const [row] = await this.query<{ 'QUERY PLAN': readonly [{ 'Execution Time': number }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`,
      values,
    );
    return row?.['QUERY PLAN'][0]['Execution Time'] ?? NaN;
  }

  /** Epoch milliseconds. */
  async now(): Promise<number> {
    const [row] = await this.query<{ ms: number }>('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms');
    return row?.ms ?? NaN;
  }

  checkpoint(): Promise<unknown> {
    return this.query('CHECKPOINT');
  }

  /** Waits until the statement gives no row. @throws Error saying what did not happen. */
  async untilNone(what: string, sql: string, limitMs: number): Promise<void> {
    const endsAt = performance.now() + limitMs;
    for (;;) {
      this.ring.signal.throwIfAborted();
      if ((await this.query(`${sql} LIMIT 1`)).length === 0) return;
      if (performance.now() > endsAt) throw new Error(`${what}: not within ${limitMs / 1_000} s`);
      await sleep(POLL_MS);
    }
  }

  /** Every wake-up that is in the horizon has been confirmed by the broker. */
  untilHandedOver(limitMs: number): Promise<void> {
    return this.untilNone(
      'handing the wake-ups to the broker',
      "SELECT 1 FROM order_timeout.outbox WHERE available_at <= now() + interval '1 second'",
      limitMs,
    );
  }

  /** For orders whose timeout is not the last one: an ended order with an attempt is looked at again, much later. */
  untilNoneIsOpen(limitMs: number): Promise<void> {
    const sql = "SELECT 1 FROM order_timeout.timeout WHERE kind = 'order.payment'";
    return this.untilNone('closing the orders', sql, limitMs);
  }

  untilNothingIsPending(limitMs: number): Promise<void> {
    return this.untilNone('closing the orders', 'SELECT 1 FROM order_timeout.timeout', limitMs);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

const LIMIT_MS = 60_000;
const PAUSE_MS = 250;

/** The harness's own way to the database, past all proxies, which outlives the database's kills. */
export class Database {
  private client: Client | undefined;
  private queue: Promise<unknown> = Promise.resolve();

  /** @param url asked for at each connect, as the primary may become another one. */
  constructor(private readonly url: () => string) {}

  /** One statement after the other; tried again while the database is unavailable. */
  query<T>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    const result = this.queue.then(() => this.again<T>(sql, values));
    this.queue = result.catch(() => undefined);
    return result;
  }

  /** A connection of the caller's own, which he ends; tried again while the database is unavailable. */
  connect(): Promise<Client> {
    return this.retryWhileUnavailable(() => this.connectOnce());
  }

  get name(): string {
    return new URL(this.url()).pathname.slice(1);
  }

  private async connectOnce(): Promise<Client> {
    // Also while a fault has made the service's sessions read-only.
    const client = new Client({ connectionString: this.url(), options: '-c default_transaction_read_only=off' });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Ends sessions of the instances. @param share of them, 0 to 1 @returns how many */
  async endSessions(share = 1): Promise<number> {
    const rows = await this.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name LIKE 'nestjs-order-timeout%' AND random() < $1`,
      [share],
    );
    return rows.length;
  }

  async close(): Promise<void> {
    await this.client?.end().catch(() => undefined);
  }

  private again<T>(sql: string, values: readonly unknown[]): Promise<T[]> {
    return this.retryWhileUnavailable(async () => {
      this.client ??= await this.connectOnce();
      try {
        return (await this.client.query(sql, [...values])).rows as T[];
      } catch (error) {
        await this.client.end().catch(() => undefined);
        this.client = undefined;
        throw error;
      }
    });
  }

  private async retryWhileUnavailable<T>(attempt: () => Promise<T>): Promise<T> {
    const endsAt = performance.now() + LIMIT_MS;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const isServerError = error instanceof Error && /^(42|22|23)/.test(String((error as { code?: string }).code));
        if (isServerError || performance.now() > endsAt) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }
}

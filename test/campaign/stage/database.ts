import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

const LIMIT_MS = 60_000;
const PAUSE_MS = 250;

/** The harness's own way to the database, past all proxies, which outlives the database's kills. */
export class Database {
  private client: Client | undefined;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly url: string) {}

  /** One statement after the other; tried again while the database is away. */
  query<T>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    const result = this.queue.then(() => this.again<T>(sql, values));
    this.queue = result.catch(() => undefined);
    return result;
  }

  /** A connection of the caller's own, which he ends. */
  async connect(): Promise<Client> {
    const client = new Client({ connectionString: this.url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    await this.client?.end().catch(() => undefined);
  }

  private async again<T>(sql: string, values: readonly unknown[]): Promise<T[]> {
    const endsAt = performance.now() + LIMIT_MS;
    for (;;) {
      try {
        this.client ??= await this.connect();
        return (await this.client.query(sql, [...values])).rows as T[];
      } catch (error) {
        const isServerError = error instanceof Error && /^(42|22|23)/.test(String((error as { code?: string }).code));
        if (isServerError || performance.now() > endsAt) throw error;
        await this.client?.end().catch(() => undefined);
        this.client = undefined;
        await sleep(PAUSE_MS);
      }
    }
  }
}

import { type DataSource } from 'typeorm';
import { type DelayTransportName } from '../delay';
import { handOverAt } from '../events';

const PAGE = 5_000;

/**
 * Remembers, in the database, to which transport the pending wake-ups were handed, and hands them to another one.
 * Several instances may do so at once: a wake-up too many does nothing.
 */
export class Republication {
  private known: DelayTransportName | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
    private readonly horizonMs: number,
  ) {}

  /** What this process knows to be recorded. */
  get recorded(): DelayTransportName | undefined {
    return this.known;
  }

  /** Publishes again what is pending if the recorded transport is another one. Returns how many wake-ups. */
  async switchTo(name: DelayTransportName): Promise<number> {
    const previous = await this.read();
    const isNeeded = previous !== undefined && previous !== name && name !== 'none';
    const rows = isNeeded ? await this.publishAll(previous) : 0;
    if (name === 'none') await this.discardWakeUps();
    // Recorded last: if we die on the way, the next start does it all again.
    await this.record(name);
    this.known = name;
    return rows;
  }

  private async publishAll(previous: string): Promise<number> {
    let count = 0;
    let after: { kind: string; key: string } | undefined = { kind: '', key: '' };
    while (after) {
      const rows: { kind: string; key: string }[] = await this.publishPage(after, previous === 'none');
      count += rows.length;
      after = rows.length === PAGE ? rows.at(-1) : undefined;
    }
    return count;
  }

  /** Beyond the horizon the outbox still has the row, unless no wake-ups were written at all. */
  private publishPage(after: { kind: string; key: string }, isAll: boolean): Promise<{ kind: string; key: string }[]> {
    return this.dataSource.query(
      `WITH page AS (
         SELECT kind, key, generation, next_attempt_at, traceparent FROM ${this.schema}.timeout
          WHERE state = 'pending' AND (kind, key) > ($1, $2)
            AND ($4 OR next_attempt_at <= now() + $3 * interval '1 millisecond')
          ORDER BY kind, key LIMIT ${PAGE}),
       published AS (
         INSERT INTO ${this.schema}.outbox (id, route, routing_key, body, traceparent, deliver_at, available_at)
         SELECT gen_random_uuid(), 'wake-up', kind,
                jsonb_build_object('kind', kind, 'key', key, 'generation', generation::text,
                                   'dueAt', ceil(extract(epoch FROM next_attempt_at) * 1000)),
                traceparent, next_attempt_at, ${handOverAt('next_attempt_at', '$3')}
           FROM page)
       SELECT kind, key FROM page ORDER BY kind, key`,
      [after.kind, after.key, this.horizonMs, isAll],
    );
  }

  /** Nobody will publish them in this mode, and they would pile up. */
  private async discardWakeUps(): Promise<void> {
    await this.dataSource.query(`DELETE FROM ${this.schema}.outbox WHERE route = 'wake-up'`);
  }

  private async read(): Promise<string | undefined> {
    const [row] = await this.dataSource.query<{ value: string }[]>(
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = 'delay-transport'`,
    );
    return row?.value;
  }

  private async record(name: DelayTransportName): Promise<void> {
    await this.dataSource.query(
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ('delay-transport', $1)
       ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, changed_at = now()`,
      [name],
    );
  }
}

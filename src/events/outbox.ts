import { type DataSource, type EntityManager } from 'typeorm';
import { type OutboxEntry } from './outbox-entry';
import { announceAfterCommit } from './commit-announcer';
import { handOverAt } from './hand-over-at';
import { storableJson } from './storable-json';

interface OutboxOptions {
  readonly schema: string;
  /** Rows are handed to the broker only when due within this time, milliseconds. */
  readonly horizonMs: number;
}

/**
 * The transactional outbox: what is appended reaches the broker if, and only if, the transaction commits. It is
 * the only way to the broker; nothing that must arrive is ever kept in memory.
 */
export class Outbox {
  private readonly insert: string;

  constructor(readonly options: OutboxOptions) {
    this.insert = `
      INSERT INTO ${options.schema}.outbox (id, route, routing_key, body, traceparent, deliver_at, available_at)
      SELECT id, route, routing_key, body::jsonb, traceparent, deliver_at,
             ${handOverAt('deliver_at', '$7')}
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
          AS entry(id, route, routing_key, body, traceparent, deliver_at)`;
  }

  /** Appends rows in the caller's transaction; the relay is woken when it commits. */
  async append(tx: EntityManager, entries: readonly OutboxEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await tx.query(this.insert, [
      entries.map((entry) => entry.id),
      entries.map((entry) => entry.route),
      entries.map((entry) => entry.routingKey),
      entries.map((entry) => storableJson(entry.body)),
      entries.map((entry) => entry.traceparent ?? null),
      entries.map((entry) => (entry.deliverAtMs === undefined ? null : new Date(entry.deliverAtMs).toISOString())),
      this.options.horizonMs,
    ]);
    announceAfterCommit(tx);
  }

  /** Rows that wait for the broker, and the age of the oldest that should be gone, in seconds. */
  async backlog(dataSource: DataSource): Promise<{ rows: number; oldestSeconds: number }> {
    const [row] = await dataSource.query<{ rows: string; oldest: string | null }[]>(`
      SELECT count(*) AS rows, extract(epoch FROM now() - min(available_at)) AS oldest
        FROM ${this.options.schema}.outbox WHERE available_at <= now()`);
    return { rows: Number(row?.rows ?? 0), oldestSeconds: Math.max(0, Number(row?.oldest ?? 0)) };
  }
}

import { type DataSource } from 'typeorm';
import { isEntityManager, joinStatements, ownQuery, storableJson, type Transaction } from '../database';
import { type OutboxEntry } from './outbox-entry';
import { announceAfterCommit } from './commit-announcer';
import { handOverAt } from './hand-over-at';

interface OutboxOptions {
  readonly schema: string;
  /** Rows are handed to the broker only when due within this time, milliseconds. */
  readonly horizonMs: number;
  /** False: there is no broker, so nobody would take what is appended. @default true */
  readonly hasReader?: boolean;
}

/** State of the outbox. */
export interface OutboxBacklog {
  /** Rows that should be on the broker by now. */
  readonly rows: number;
  /** Age of the oldest of them: since it was written, or since it came within the horizon. */
  readonly oldestSeconds: number;
  /** Parked rows: they can never be sent and wait for a person. */
  readonly parked: number;
}

/** Longer than any lease, and than any back-off. */
const LONGEST_HOLD = '2 minutes';

/**
 * The transactional outbox: what is appended reaches the broker if, and only if, the transaction commits. Events and
 * wake-ups take no other way, so none exists in memory only. Copies to the parked queue and the probe's test messages
 * are published directly. Without a broker nothing is written.
 */
export class Outbox {
  private readonly insert: string;
  private readonly backlogSql: string;

  /** @internal Nest creates it. */
  constructor(readonly options: OutboxOptions) {
    this.insert = `
      INSERT INTO ${options.schema}.outbox (id, route, routing_key, body, traceparent, deliver_at, available_at)
      SELECT id, route, routing_key, body::jsonb, traceparent, deliver_at,
             ${handOverAt('deliver_at', '$7')}
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
          AS entry(id, route, routing_key, body, traceparent, deliver_at)`;
    // A claim or a back-off moves a row by a minute or so; the index is read no further, as wake-ups of far deadlines follow.
    const dueAt = `GREATEST(created_at, deliver_at - $1 * interval '1 millisecond')`;
    this.backlogSql = `
      SELECT count(*)::int AS rows,
             GREATEST(0, coalesce(extract(epoch FROM now() - min(${dueAt})), 0))::float8 AS "oldestSeconds",
             (SELECT count(*)::int FROM ${options.schema}.outbox WHERE parked_reason IS NOT NULL) AS parked
        FROM ${options.schema}.outbox WHERE available_at <= now() + interval '${LONGEST_HOLD}' AND ${dueAt} <= now()`;
  }

  /**
   * Appends rows in the caller's transaction. The relay is woken when a transaction of TypeORM commits, and finds the rows
   * of another library within half a second.
   */
  async append(tx: Transaction, entries: readonly OutboxEntry[]): Promise<void> {
    if (entries.length === 0 || this.options.hasReader === false) return;
    const values = [
      entries.map((entry) => entry.id),
      entries.map((entry) => entry.route),
      entries.map((entry) => entry.routingKey),
      entries.map((entry) => storableJson(entry.body)),
      entries.map((entry) => entry.traceparent ?? null),
      entries.map((entry) => (entry.deliverAtMs === undefined ? null : new Date(entry.deliverAtMs).toISOString())),
      this.options.horizonMs,
    ];
    await joinStatements(this.options.schema, tx, (statements) => statements.query(this.insert, values));
    // No other library tells of its commits.
    if (!isEntityManager(tx)) return;
    announceAfterCommit(
      tx,
      [],
      entries.map(({ route }) => route),
    );
  }

  /** Rows that should be on the broker by now, claimed or not, and rows that can never get there. */
  async backlog(dataSource: DataSource): Promise<OutboxBacklog> {
    const [row] = await ownQuery<OutboxBacklog[]>(dataSource, this.backlogSql, [this.options.horizonMs]);
    return row ?? { rows: 0, oldestSeconds: 0, parked: 0 };
  }
}

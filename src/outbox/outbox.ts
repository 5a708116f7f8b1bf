import { type DataSource, type EntityManager, type EntitySubscriberInterface } from 'typeorm';
import { type PollingLoop } from '../clock';
import { isEntityManager, joinStatements, ownQuery, storableJson, type Transaction } from '../database';

interface OutboxOptions {
  readonly schema: string;
  /** Rows are handed to the broker only when due within this time, milliseconds. */
  readonly horizonMs: number;
  /** False: there is no broker, so nobody would take what is appended. @default true */
  readonly hasReader?: boolean;
}

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

/** A JSON object, as it goes over the wire. */
export type JsonObject = { readonly [key: string]: unknown };

/** Which road a row takes: a wake-up waits in the delay transport, an event goes straight to the events exchange. */
export type OutboxRoute = 'wake-up' | 'event';

/** One message to be published after the transaction that appended it has committed. */
export interface OutboxEntry {
  /** UUID v7, the message id forever: a re-published row keeps it. */
  readonly id: string;
  readonly route: OutboxRoute;
  /** Timeout kind for a wake-up, event name for an event. */
  readonly routingKey: string;
  readonly body: JsonObject;
  /** W3C traceparent of the work that caused it. */
  readonly traceparent?: string | undefined;
  /** Epoch milliseconds at which a wake-up is due; absent: at once. */
  readonly deliverAtMs?: number | undefined;
}

/** What the events of a statement are made of. Every value is SQL. */
interface EventSource {
  /** What follows FROM. Its rows have the columns `body`, the text of the JSON, and `traceparent`. */
  readonly from: string;
  /** UUID of the message. */
  readonly id: string;
  /** Name of the event, for example `order.closed`. */
  readonly type: string;
}

/**
 * SQL that writes an event for each row of `from`. It stands in a WITH clause or by itself.
 *
 * @param hasReader false: there is no broker, so nothing is written.
 */
export function insertEvents(schema: string, { from, id, type }: EventSource, hasReader: boolean): string {
  if (!hasReader) return 'SELECT 1 WHERE false';
  return `
    INSERT INTO ${schema}.outbox (id, route, routing_key, body, traceparent)
    SELECT ${id}, 'event', ${type}, body::jsonb, traceparent
      FROM ${from}`;
}

/** What the wake-ups of a statement are made of. Every value is SQL. */
interface WakeUpSource {
  /** What follows FROM. Its rows have the columns `kind`, `key`, `generation`, and `traceparent`. */
  readonly from: string;
  /** UUID of the message. */
  readonly id: string;
  readonly dueAt: string;
  /** How far ahead of `dueAt` the relay may take them, milliseconds. Absent: it takes them at once. */
  readonly horizonMs?: string;
}

/** SQL that writes a wake-up for each row of `from`. It stands in a WITH clause or by itself. */
export function insertWakeUps(schema: string, { from, id, dueAt, horizonMs }: WakeUpSource): string {
  const availableAt = horizonMs === undefined ? 'now()' : handOverAt(dueAt, horizonMs);
  return `
    INSERT INTO ${schema}.outbox (id, route, routing_key, body, traceparent, deliver_at, available_at)
    SELECT ${id}, 'wake-up', kind, ${wakeUpBodySql(dueAt)}, traceparent, ${dueAt}, ${availableAt}
      FROM ${from}`;
}

/** What a wake-up says on the wire: ids, and the due time in whole milliseconds, never earlier than the timeout's own. */
export function wakeUpBody(kind: string, key: string, generation: string, dueAtMs: number): JsonObject {
  return { kind, key, generation, dueAt: Math.ceil(dueAtMs) };
}

/**
 * SQL of the same body, for rows with the columns `kind`, `key`, and `generation`.
 *
 * @param dueAt SQL expression.
 */
export function wakeUpBodySql(dueAt: string): string {
  return `jsonb_build_object('kind', kind, 'key', key, 'generation', generation::text,
                             'dueAt', ceil(extract(epoch FROM ${dueAt}) * 1000))`;
}

/** Wake-ups are handed over four times a second, all of that time at once. */
const BEATS_A_SECOND = 4;

/** What is due sooner does not wait for the beat: the relay may find it 0.75 s late (a beat, and its poll of 0.5 s). */
const SOON = '3 seconds';

/**
 * SQL of the time at which the relay takes what is due at `dueAt` (null: at once), `horizonMs` ahead at most. Wake-ups that
 * come to a delay queue together leave it together: the broker then logs one command for all of them and not one for each
 * (500 orders/s by the ladder, both cores full: p99 98 ms late, and 266 or more without).
 *
 * @param horizonMs SQL, too: a parameter or a number.
 */
function handOverAt(dueAt: string, horizonMs: string): string {
  const earliest = `GREATEST(now(), ${dueAt} - ${horizonMs} * interval '1 millisecond')`;
  const beat = `to_timestamp(ceil(extract(epoch FROM ${earliest})::float8 * ${BEATS_A_SECOND}) / ${BEATS_A_SECOND})`;
  return `CASE WHEN ${dueAt} >= now() + interval '${SOON}' THEN ${beat} ELSE now() END`;
}

const MARK = 'order-timeout:announced';

/** A timeout of the transaction that is due soon. While the message path is down, this process triggers it itself. */
export interface AnnouncedWakeUp {
  readonly kind: string;
  readonly key: string;
  readonly generation: string;
  readonly dueAtMs: number;
}

interface Announced {
  readonly wakeUps: AnnouncedWakeUp[];
  readonly routes: Set<OutboxRoute>;
}

interface Marked {
  [MARK]?: Announced | undefined;
}

/**
 * Remembers that this transaction wrote something that must be announced in this process after its commit.
 *
 * @param routes that it wrote to in the outbox. By default wake-ups if it names some, else events.
 */
export function announceAfterCommit(
  tx: EntityManager,
  wakeUps: readonly AnnouncedWakeUp[] = [],
  routes: Iterable<OutboxRoute> = wakeUps.length > 0 ? ['wake-up'] : ['event'],
): void {
  const data = tx.queryRunner?.data as Marked | undefined;
  if (!data) return;
  const announced = (data[MARK] ??= { wakeUps: [], routes: new Set() });
  for (const wakeUp of wakeUps) announced.wakeUps.push(wakeUp);
  for (const route of routes) announced.routes.add(route);
}

interface CommitListener {
  /** The wake-ups that it wrote, if there are any. */
  wakeUps?(wakeUps: readonly AnnouncedWakeUp[]): void;
  /** The loop to wake if it wrote to this route. */
  readonly relay?: { readonly route: OutboxRoute; readonly loop: Pick<PollingLoop, 'wake'> };
}

/** One subscriber per DataSource, because the first one that sees a mark removes it. */
const listenersOf = new WeakMap<DataSource, Set<CommitListener>>();

/**
 * Calls `listener` after the commit of every marked transaction of this DataSource, the host's own included. Only
 * a latency hint: the polling loops find everything without it. Returns the way to stop that.
 */
export function onAnnouncedCommit(dataSource: DataSource, listener: CommitListener): () => void {
  const listeners = listenersOf.get(dataSource) ?? subscribe(dataSource);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function subscribe(dataSource: DataSource): Set<CommitListener> {
  const listeners = new Set<CommitListener>();
  const subscriber: EntitySubscriberInterface = {
    afterTransactionCommit({ queryRunner }) {
      const data = queryRunner.data as Marked;
      const announced = data[MARK];
      // A released savepoint announces too; the outer commit is the one that counts.
      if (!announced || queryRunner.isTransactionActive) return;
      data[MARK] = undefined;
      for (const listener of listeners) {
        if (announced.wakeUps.length > 0) listener.wakeUps?.(announced.wakeUps);
        if (listener.relay && announced.routes.has(listener.relay.route)) listener.relay.loop.wake();
      }
    },
    afterTransactionRollback({ queryRunner }) {
      if (!queryRunner.isTransactionActive) (queryRunner.data as Marked)[MARK] = undefined;
    },
  };
  dataSource.subscribers.push(subscriber);
  listenersOf.set(dataSource, listeners);
  return listeners;
}

import { ownQuery, ownTransaction } from '../database';
import { type DataSource } from 'typeorm';
import { announceAfterCommit, type AnnouncedWakeUp, insertWakeUps } from '../outbox';
import { type TimeoutRecord, type TimeoutRef } from './model/timeout';
import { EVERY_TIMEOUT, type TimeoutScope } from './scheduling/timeout-scheduler';
import { TimeoutSummary } from './timeout-summary';

interface ParkedDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly writesWakeUps: boolean;
  readonly horizonMs: number;
}

/** Timeouts that used up their attempts: listed, replayed, rescheduled, or discarded, one or many. */
export class ParkedTimeouts {
  /** @internal Nest creates it. */
  constructor(private readonly deps: ParkedDependencies) {}

  /** By kind and key; `after` is the last one of the page before. */
  list(
    page: { limit?: number; after?: TimeoutRef } = {},
    scope: TimeoutScope = EVERY_TIMEOUT,
  ): Promise<TimeoutRecord[]> {
    const { limit = 100, after = { kind: '', key: '' } } = page;
    return new TimeoutSummary(this.deps.dataSource, this.deps.schema).parkedPage({ limit, after }, scope);
  }

  /** How many there are, by kind. */
  async count(): Promise<ReadonlyMap<string, number>> {
    const rows = await ownQuery<{ kind: string; count: number }[]>(
      this.deps.dataSource,
      `SELECT kind, count(*)::int AS count FROM ${this.deps.schema}.timeout WHERE state = 'parked' GROUP BY kind`,
    );
    return new Map(rows.map(({ kind, count }) => [kind, count]));
  }

  /** Makes them due now, with a fresh budget of attempts. Returns how many were parked. */
  replay(refs: readonly TimeoutRef[], scope: TimeoutScope = EVERY_TIMEOUT): Promise<number> {
    return this.reschedule(refs, 0, scope);
  }

  /** Makes them due after `afterMs`, with a fresh budget of attempts. Returns how many were parked. */
  reschedule(refs: readonly TimeoutRef[], afterMs: number, scope: TimeoutScope = EVERY_TIMEOUT): Promise<number> {
    const { dataSource, writesWakeUps, horizonMs } = this.deps;
    return ownTransaction(dataSource, async (tx) => {
      const [kinds, keys] = [refs.map((ref) => ref.kind), refs.map((ref) => ref.key)];
      const values = [kinds, keys, writesWakeUps, scope.values, afterMs, horizonMs];
      const rows = await tx.query<AnnouncedWakeUp[]>(this.rescheduleSql(scope), values);
      announceAfterCommit(tx, rows);
      return rows.length;
    });
  }

  /** Ends them for good without their effect. Returns how many were parked. */
  async discard(refs: readonly TimeoutRef[], scope: TimeoutScope = EVERY_TIMEOUT): Promise<number> {
    const sql = `
      DELETE FROM ${this.deps.schema}.timeout t USING unnest($1::text[], $2::text[]) AS r(kind, key)
       WHERE t.kind = r.kind AND t.key = r.key AND t.state = 'parked' AND ${scope.condition('t', '$3')}`;
    const values = [refs.map((ref) => ref.kind), refs.map((ref) => ref.key), scope.values];
    const [, count] = await ownTransaction(this.deps.dataSource, (tx) => tx.query<[unknown, number]>(sql, values));
    return count;
  }

  /** $1 kinds, $2 keys, $3 whether to write wake-ups, $4 of the scope, $5 milliseconds from now, $6 horizon in milliseconds. */
  private rescheduleSql(scope: TimeoutScope): string {
    const { schema } = this.deps;
    const dueAt = `now() + $5 * interval '1 millisecond'`;
    return `
      WITH rescheduled AS (
        UPDATE ${schema}.timeout t
           SET state = 'pending', attempts = 0, lease = NULL, asked_since = NULL, next_attempt_at = ${dueAt},
               generation = nextval('${schema}.timeout_generation')
          FROM unnest($1::text[], $2::text[]) AS r(kind, key)
         WHERE t.kind = r.kind AND t.key = r.key AND t.state = 'parked' AND ${scope.condition('t', '$4')}
        RETURNING t.kind, t.key, t.generation, t.traceparent, t.next_attempt_at),
      wake_up AS (
        ${insertWakeUps(schema, {
          from: 'rescheduled WHERE $3',
          id: 'gen_random_uuid()',
          dueAt: 'next_attempt_at',
          horizonMs: '$6',
        })})
      SELECT kind, key, generation::text, (extract(epoch FROM next_attempt_at) * 1000)::float8 AS "dueAtMs"
        FROM rescheduled`;
  }
}

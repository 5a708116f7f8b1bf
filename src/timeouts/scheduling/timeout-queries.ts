import { insertWakeUps } from '../../outbox';

/** SQL of scheduling and look-up, one statement each. Locking and settling are in SettlementQueries. */
export class TimeoutQueries {
  readonly schedule: string;
  readonly lock: string;
  readonly cancel: string;
  readonly find: string;
  readonly pending: string;
  readonly kinds: string;
  readonly upcoming: string;

  constructor(readonly schema: string) {
    const record = `kind, key, generation::text, due_at AS "dueAt", next_attempt_at AS "nextAttemptAt", attempts, state,
      last_error AS "lastError", payload`;
    this.schedule = `
      WITH request AS (
        SELECT kind, key, payload::jsonb AS payload, traceparent, outbox_id,
               COALESCE(due_at, now() + after_ms * interval '1 millisecond') AS due_at
          FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::float8[], $5::text[], $6::text[], $7::uuid[])
            AS r(kind, key, due_at, after_ms, payload, traceparent, outbox_id)),
      scheduled AS (
        INSERT INTO ${schema}.timeout AS t (kind, key, generation, due_at, next_attempt_at, payload, traceparent)
        SELECT kind, key, nextval('${schema}.timeout_generation'), due_at, due_at, payload, traceparent FROM request
        ON CONFLICT (kind, key) DO UPDATE
           SET generation = EXCLUDED.generation, due_at = EXCLUDED.due_at, next_attempt_at = EXCLUDED.due_at,
               attempts = 0, lease = NULL, state = 'pending', last_error = NULL, asked_since = NULL,
               payload = EXCLUDED.payload, traceparent = EXCLUDED.traceparent
        RETURNING t.kind, t.key, t.generation, t.due_at),
      wake_up AS (
        ${insertWakeUps(schema, {
          from: 'scheduled s JOIN request r USING (kind, key) WHERE $9',
          id: 'outbox_id',
          dueAt: 's.due_at',
          horizonMs: '$8',
        })})
      SELECT kind, key, generation::text AS generation, due_at FROM scheduled`;
    // In the order given, which is the one of schedule(): a plain DELETE locks as its plan happens to scan.
    this.lock = `
        SELECT t.kind, t.key
          FROM ${schema}.timeout t
          JOIN unnest($1::text[], $2::text[]) WITH ORDINALITY AS r(kind, key, place) ON t.kind = r.kind AND t.key = r.key
         ORDER BY r.place FOR UPDATE OF t`;
    this.cancel = `
      WITH locked AS (${this.lock}),
      canceled AS (
        DELETE FROM ${schema}.timeout t USING locked l WHERE t.kind = l.kind AND t.key = l.key RETURNING 1)
      SELECT count(*)::int AS count FROM canceled`;
    this.find = `SELECT ${record} FROM ${schema}.timeout WHERE kind = $1 AND key = $2`;
    this.pending = `
      SELECT ${record} FROM ${schema}.timeout
       WHERE kind = $1 AND key > $2 AND state = 'pending' ORDER BY key LIMIT $3`;
    // A loose scan of the index: as many steps as there are kinds, not as there are rows.
    this.kinds = `
      WITH RECURSIVE kinds AS (
        SELECT min(kind) AS kind FROM ${schema}.timeout WHERE state = 'pending'
        UNION ALL
        SELECT (SELECT min(t.kind) FROM ${schema}.timeout t WHERE t.state = 'pending' AND t.kind > kinds.kind)
          FROM kinds WHERE kinds.kind IS NOT NULL)
      SELECT kind FROM kinds WHERE kind IS NOT NULL`;
    this.upcoming = `
      SELECT key, generation::text AS generation, (extract(epoch FROM next_attempt_at) * 1000)::float8 AS due_ms
        FROM ${schema}.timeout
       WHERE kind = $1 AND state = 'pending' AND next_attempt_at > now()
         AND next_attempt_at <= now() + $2 * interval '1 millisecond'
       ORDER BY next_attempt_at, key LIMIT $3`;
  }
}

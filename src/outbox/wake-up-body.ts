import { type JsonObject } from './outbox-entry';

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

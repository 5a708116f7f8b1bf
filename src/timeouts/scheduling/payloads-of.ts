/**
 * SQL: a field of the payloads of all timeouts of some kinds, pending or parked, where it is there. By the primary key alone.
 *
 * @param kinds SQL expression of a text[].
 */
export function payloadsOf(schema: string, kinds: string, field: string): string {
  return `SELECT about.payload->>'${field}' FROM ${schema}.timeout about
           WHERE about.kind = ANY(${kinds}) AND about.payload->>'${field}' IS NOT NULL`;
}

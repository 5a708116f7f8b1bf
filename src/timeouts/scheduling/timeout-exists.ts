/**
 * SQL: true while there is a timeout of this kind and key, pending or parked. A single value and not EXISTS: the planner
 * turns that into a scan of the table where it takes it for small.
 *
 * @param kind,key SQL expressions.
 */
export function timeoutExists(schema: string, kind: string, key: string): string {
  return `((SELECT true FROM ${schema}.timeout present WHERE present.kind = ${kind} AND present.key = ${key}) IS TRUE)`;
}

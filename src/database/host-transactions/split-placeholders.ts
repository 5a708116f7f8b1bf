/** A statement without its placeholders. */
export interface SplitStatement {
  /** The text before, between, and after the placeholders. */
  readonly parts: readonly string[];
  /** The value of each placeholder. */
  readonly values: readonly unknown[];
}

const PLACEHOLDER = /\$(\d+)(::\w+(?:\[\])?)?/g;

/**
 * Pure: splits a statement at `$1`, `$2`, and so on, for libraries that number placeholders themselves. Each occurrence
 * becomes a parameter of its own, so each gets the cast that one of them has: PostgreSQL would not know its type otherwise.
 */
export function splitPlaceholders(sql: string, parameters: readonly unknown[]): SplitStatement {
  const found = [...sql.matchAll(PLACEHOLDER)];
  const casts = new Map(found.flatMap(([, number, cast]) => (cast === undefined ? [] : [[number, cast] as const])));
  const parts: string[] = [];
  let cast = '';
  let from = 0;
  for (const { 0: text, 1: number, index } of found) {
    parts.push(cast + sql.slice(from, index));
    cast = casts.get(number) ?? '';
    from = index + text.length;
  }
  parts.push(cast + sql.slice(from));
  return { parts, values: found.map(([, number]) => parameters[Number(number) - 1]) };
}

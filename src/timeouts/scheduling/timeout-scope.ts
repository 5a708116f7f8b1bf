/** Which timeouts an operator sees and moves; the others are not there for them. */
export interface TimeoutScope {
  /** What `condition` compares with; becomes a text[] parameter. */
  readonly values: readonly string[];
  /** SQL that is true for the timeouts inside. @param row alias of the timeout's row. @param values the parameter. */
  condition(row: string, values: string): string;
}

/** Everybody's operator. */
export const EVERY_TIMEOUT: TimeoutScope = {
  values: [],
  // Names the parameter, as PostgreSQL wants a type for each.
  condition: (_row, values) => `${values}::text[] IS NOT NULL`,
};

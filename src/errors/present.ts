/**
 * The value, where only a bug could have left it out. On the way of money and stock a missing value must never turn into
 * a default that decides something.
 *
 * @param what names it in the error.
 */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`);
  return value;
}

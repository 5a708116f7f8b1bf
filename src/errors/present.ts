/**
 * Returns the value, which only a bug could have left out. In code for money and stock, a missing value must never
 * become a default that decides something.
 *
 * @param what names the value in the error.
 */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`);
  return value;
}

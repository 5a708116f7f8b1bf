/**
 * Returns the own property `key` of `record`. Use it for keys from outside, because a plain object also answers to
 * `constructor` and `__proto__`.
 */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/**
 * The value that was put into `record` under `key`. For keys from outside: a plain object answers to `constructor` and
 * `__proto__` too.
 */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

import { types } from 'node:util';

/** Pure: an array of scalars as PostgreSQL writes it, for drivers that cannot send an array of every type. */
export function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(elementOf).join(',')}}`;
}

function elementOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  const scalar: unknown = types.isDate(value) ? value.toISOString() : value;
  return `"${String(scalar).replace(/["\\]/g, '\\$&')}"`;
}

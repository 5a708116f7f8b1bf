import { types } from 'node:util';

type Row = Readonly<Record<string, unknown>>;

/** Columns of our statements that hold an instant. The others have no such name. */
const INSTANT = /^now$|_at$|At$/;
/** An instant as PostgreSQL writes it: `2026-11-22 18:00:00.123456+05:30`. */
const WRITTEN = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(?::?(\d\d))?/;

/**
 * A row as `pg` gives it by default: instants are Dates, and a bigint is text. Libraries, and hosts with parsers of their
 * own, read these types differently.
 */
export function plainRow(row: unknown): Row {
  return Object.fromEntries(Object.entries(row as Row).map(([name, value]) => [name, plain(name, value)]));
}

function plain(name: string, value: unknown): unknown {
  if (value === null || value === undefined || types.isDate(value)) return value;
  if (INSTANT.test(name)) return instantOf(value);
  if (Array.isArray(value)) return value.map((one: unknown) => (typeof one === 'bigint' ? one.toString() : one));
  return typeof value === 'bigint' ? value.toString() : value;
}

/** A value that is no text is an object of a library for dates, which converts itself to milliseconds. */
function instantOf(value: unknown): Date {
  if (typeof value !== 'string') return new Date(Number(value));
  const [, day, time, hours, minutes = '00'] = WRITTEN.exec(value) ?? [];
  return new Date(day === undefined ? value : `${day}T${time}${hours}:${minutes}`);
}

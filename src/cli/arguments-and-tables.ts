import { InvalidArgumentError } from 'commander';
import { type TimeoutRef } from '../timeouts';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @throws InvalidArgumentError, as all of these do; commander names the argument. */
export function parseCount(text: string): number {
  const value = Number(text);
  if (!/^\d{1,6}$/.test(text) || value === 0) throw new InvalidArgumentError('It must be an integer from 1 to 999999.');
  return value;
}

/** Milliseconds. A negative duration is earlier. */
export function parseDuration(text: string): number {
  const [, sign = '', digits = '', unit = ''] = /^(-?)(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS_MS[unit];
  if (factor === undefined)
    throw new InvalidArgumentError('It must be a number and a unit: 500ms, 90s, 30m, 2h, or 1d.');
  return Number(digits) * factor * (sign === '-' ? -1 : 1);
}

export function parseInstant(text: string): Date {
  const date = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('It must be an ISO 8601 instant with a time zone, such as 2026-03-01T12:00:00Z.');
  }
  return date;
}

/** `kind/key`. A kind contains no slash; a key may. */
export function parseTimeout(text: string): TimeoutRef {
  const slash = text.indexOf('/');
  if (slash < 1 || slash === text.length - 1) {
    throw new InvalidArgumentError('It must be a kind and a key, such as order.payment/o-1.');
  }
  return { kind: text.slice(0, slash), key: text.slice(slash + 1) };
}

/** For an argument that may be repeated. */
export function collect<T>(parse: (text: string) => T): (text: string, before: readonly T[] | undefined) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

/** How `parseTimeout` reads it again. */
export function nameOf({ kind, key }: TimeoutRef): string {
  return `${kind}/${key}`;
}

/** What a cell shows. Dates are shown in UTC, to the second. */
type Cell = string | number | boolean | Date | null | undefined;

const MAX_WIDTH = 80;

/** Of the last column, which ends no other: a reason is followed by what to do. */
const LAST_WIDTH = 400;

const GAP = '  ';

/** Pure: columns as wide as they must be, with a head. Numbers are aligned to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) =>
    row.map((cell, column) => show(cell, column === head.length - 1 ? LAST_WIDTH : MAX_WIDTH)),
  );
  const widths = head.map((title, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), title.length),
  );
  const isRight = head.map((_, column) => rows.some((row) => typeof row[column] === 'number'));
  const line = (row: readonly string[]): string =>
    widths
      .map((width, column) => {
        const cell = row[column] ?? '';
        return isRight[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(Math.min(width, MAX_WIDTH))).join(GAP);
  return [line(head), rule, ...cells.map(line)].join('\n') + '\n';
}

/** A table of one column of names and one of values. */
export function textPairs(pairs: Readonly<Record<string, Cell>>): string {
  const names = Object.keys(pairs);
  const width = names.reduce((widest, name) => Math.max(widest, name.length), 0);
  return names.map((name) => `${name.padEnd(width)}${GAP}${show(pairs[name], LAST_WIDTH)}\n`).join('');
}

/** One line: text of a message may contain line breaks and control characters that would change the terminal. */
function show(cell: Cell, maxWidth: number): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Date) return cell.toISOString().replace(/\.\d+Z$/, 'Z');
  const text = String(cell).replace(/\p{Cc}+/gu, ' ');
  return text.length > maxWidth ? `${text.slice(0, maxWidth - 1)}…` : text;
}

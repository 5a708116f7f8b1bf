/** What a cell shows. Dates are shown in UTC, to the second. */
export type Cell = string | number | boolean | Date | null | undefined;

const MAX_WIDTH = 80;
const GAP = '  ';

/** Pure: columns as wide as they must be, with a head. Numbers are aligned to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(show));
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
  return [line(head), widths.map((width) => '-'.repeat(width)).join(GAP), ...cells.map(line)].join('\n') + '\n';
}

/** A table of one column of names and one of values. */
export function textPairs(pairs: Readonly<Record<string, Cell>>): string {
  const names = Object.keys(pairs);
  const width = names.reduce((widest, name) => Math.max(widest, name.length), 0);
  return names.map((name) => `${name.padEnd(width)}${GAP}${show(pairs[name])}\n`).join('');
}

/** One line: text of a message may contain line breaks and control characters that would change the terminal. */
function show(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Date) return cell.toISOString().replace(/\.\d+Z$/, 'Z');
  const text = String(cell).replace(/\p{Cc}+/gu, ' ');
  return text.length > MAX_WIDTH ? `${text.slice(0, MAX_WIDTH - 1)}…` : text;
}

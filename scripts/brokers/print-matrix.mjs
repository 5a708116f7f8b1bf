import { seconds } from '../setup/progress.mjs';

/**
 * @typedef {import('./run-jest.mjs').SuiteResult & { broker: string, figures?: string[] }} MatrixRow
 *   `broker`: its version; `figures`: what was measured, a line each
 */

const heads = ['RabbitMQ', 'suite', 'passed', 'failed', 'skipped', 'time'];

/** @param {MatrixRow} row */
const cellsOf = ({ broker, suite, passed, failed, skipped, ms }) =>
  [broker, suite, passed, failed, skipped, seconds(ms)].map(String);

/**
 * @param {MatrixRow[]} rows
 * @returns {string} the table, numbers to the right
 */
export function renderMatrix(rows) {
  const lines = [heads, ...rows.map(cellsOf)];
  const widths = heads.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const pad = (/** @type {string} */ cell, /** @type {number} */ column) =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((cells) => cells.map(pad).join('  ')).join('\n');
}

/** Failures first, so that the table is what one sees at the end. @param {MatrixRow[]} rows */
export function printMatrix(rows) {
  const print = (/** @type {string} */ text) => process.stdout.write(`${text}\n`);
  for (const { broker, suite, failures } of rows)
    for (const failure of failures) print(`\nFAILED on RabbitMQ ${broker}, ${suite}\n${failure}`);
  print('');
  for (const { broker, figures = [] } of rows) for (const figure of figures) print(`${broker}  ${figure}`);
  print(`\n${renderMatrix(rows)}\n`);
  const failed = rows.filter((row) => row.failed > 0).length;
  print(failed === 0 ? `all ${rows.length} rows are green` : `${failed} of ${rows.length} rows FAIL`);
}

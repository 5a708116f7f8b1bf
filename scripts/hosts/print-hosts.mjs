const heads = ['host', 'packages', 'Node.js', 'closed after the deadline by'];

/** @typedef {import('./try-installation.mjs').Row} Row */
/** @typedef {import('./pack-product.mjs').Packed} Packed */

const kilobytes = (/** @type {number} */ bytes) => `${Math.round(bytes / 1000)} kB`;

/** @param {Row[]} rows @returns {string} a table for docs/hosts.md */
export function renderHosts(rows) {
  const lines = [heads, heads.map(() => '---'), ...rows.map(({ cells }) => cells)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Failures first, so that the table is what one sees at the end. @param {Packed} packed @param {Row[]} rows */
export function printHosts({ filename, size, unpackedSize, files }, rows) {
  const print = (/** @type {string} */ text) => process.stdout.write(`${text}\n`);
  for (const { cells, failure } of rows) if (failure !== undefined) print(`\nFAILED on ${cells[0]}\n${failure}`);
  print(`\n${renderHosts(rows)}\n`);
  print(`${filename}: ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked, ${files.length} files`);
  const added = rows.at(-1)?.added ?? [];
  const names = added.map((path) => path.replace(/^node_modules\//, '')).sort();
  print(`adds ${added.length} packages to the last host: ${names.join(', ')}`);
  const failed = rows.filter(({ failure }) => failure !== undefined).length;
  print(failed === 0 ? `all ${rows.length} hosts are green` : `${failed} of ${rows.length} hosts FAIL`);
}

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** @param {string} path */
function filesBelow(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  const entries = readdirSync(path, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/**
 * One hash over names and contents: times of modification lie after a checkout.
 *
 * @param {string} root
 * @param {string[]} inputs  files and folders, relative to the root; a missing one counts as empty
 * @returns {string}
 */
export function contentStamp(root, inputs) {
  const hash = createHash('sha256');
  const files = inputs.flatMap((input) => filesBelow(join(root, input)));
  for (const file of [...new Set(files)].sort()) {
    hash.update(`${relative(root, file).split(sep).join('/')}\0`);
    hash.update(createHash('sha256').update(readFileSync(file)).digest());
  }
  return hash.digest('hex');
}

import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { codeOf } from './errors.mjs';

/**
 * Written aside and renamed, so that a reader never sees half a file.
 *
 * @param {string} path
 * @param {string} text
 * @param {number} [mode]
 */
export function writeAtomically(path, text, mode = 0o600) {
  const aside = `${path}.${randomUUID()}`;
  writeFileSync(aside, text, { mode });
  renameSync(aside, path);
}

/**
 * @param {string} path
 * @param {unknown} value
 * @param {number} [mode]
 */
export function writeJson(path, value, mode) {
  writeAtomically(path, `${JSON.stringify(value, null, 2)}\n`, mode);
}

/** @param {string} text @returns {unknown} the caller states the type */
export const parseJson = (text) => JSON.parse(text);

/**
 * @param {string} path
 * @returns {unknown} undefined where the file is missing or not JSON (a half-written foreign file counts as missing)
 */
export function readJson(path) {
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * @param {string} path
 * @param {number} count
 * @returns {string[]} the last non-empty lines
 */
export function lastLines(path, count = 30) {
  try {
    const lines = readFileSync(path, 'utf8').split(/\r?\n|\r/);
    return lines.filter((line) => line.trim() !== '').slice(-count);
  } catch {
    return [];
  }
}

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

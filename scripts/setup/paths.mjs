import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this clone. */
export const repository = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');

/** What the set-up keeps for itself. Ignored by git; `npm run stack -- reset` empties it. */
export const stackDirectory = join(repository, '.stack');

/**
 * A folder that every user can walk through but not list, whatever the umask: a server that runs as another
 * user has to. What is secret in there has mode 0600.
 *
 * @param {string} path
 * @returns {string}
 */
export function openFolder(path) {
  if (!existsSync(path)) {
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o711);
  }
  return path;
}

/** @param {string} [name] @returns {string} a folder below `.stack`, created when missing */
export function stackFolder(name) {
  const top = openFolder(stackDirectory);
  return name === undefined ? top : openFolder(join(top, name));
}

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../setup/error-code.mjs';
import { readJson, writeAtomically, writeJson } from '../setup/files.mjs';
import { openFolder, stackFolder } from '../setup/paths.mjs';

const newSecret = () => randomBytes(18).toString('base64url');

/**
 * The one user of the private servers. Loopback is shared by everybody on the machine, so it has a password. Not called
 * like our schema, or PostgreSQL's search_path ("$user", public) would put the tables of a host into it.
 */
export const userName = 'shop';

/**
 * Kept beside the data that knows them: who deletes the data deletes the passwords too.
 *
 * @param {string} home
 * @returns {{ rabbitmq: string, postgres: string }}
 */
export function passwords(home) {
  const path = join(home, 'data', 'passwords.json');
  if (!existsSync(path)) makePasswords(path);
  return /** @type {{ rabbitmq: string, postgres: string }} */ (readJson(path));
}

/** Of two processes that find none, one makes them and both use them. @param {string} path */
function makePasswords(path) {
  const aside = `${path}.${process.pid}`;
  openFolder(dirname(path));
  writeJson(aside, { rabbitmq: newSecret(), postgres: newSecret() });
  try {
    linkSync(aside, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  rmSync(aside);
}

/**
 * The key of the local service, made once.
 *
 * @returns {{ entry: string, path: string }} `entry` is what API_KEYS wants, the key is in the file
 */
export function localApiKey() {
  const path = join(stackFolder(), 'api-key');
  if (!existsSync(path)) writeAtomically(path, `${newSecret()}\n`);
  const key = readFileSync(path, 'utf8').trim();
  return { entry: `local:${createHash('sha256').update(key).digest('hex')}:*`, path };
}

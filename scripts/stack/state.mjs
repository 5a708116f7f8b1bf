// What the keeper tells and is told, as files: they outlive any of the processes and need no protocol. Each file names its
// clone, because a copied clone brings along the files of the original: its servers are not for the copy to use or to stop.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../setup/files.mjs';
import { repository, stackFolder } from '../setup/paths.mjs';

/**
 * @typedef {object} ServerState
 * @property {'starting' | 'ready' | 'failed'} status
 * @property {number} pid
 * @property {string} startTime
 * @property {string} logFile
 * @property {Record<string, string>} access
 * @property {number[]} ports
 * @property {string} [problem]   why it failed
 * @property {string[]} [logTail]
 */

/**
 * @typedef {object} StackState
 * @property {import('../setup/process-identity.mjs').ProcessIdentity} keeper
 * @property {boolean} stopping
 * @property {Record<string, ServerState>} servers
 */

const stateFile = () => join(stackFolder(), 'state.json');
const requestFolder = () => stackFolder('requests');

/** @param {string} path @param {object} value */
const writeOwn = (path, value) => writeJson(path, { clone: repository, ...value });

/** @param {string} path @returns {unknown} undefined: there is none, or it is of another clone */
function readOwn(path) {
  const found = /** @type {{ clone?: string } | undefined} */ (readJson(path));
  return found?.clone === repository ? found : undefined;
}

/** @returns {StackState | undefined} */
export const readState = () => /** @type {StackState | undefined} */ (readOwn(stateFile()));
/** @param {StackState} state */
export const writeState = (state) => writeOwn(stateFile(), state);
export const removeState = () => rmSync(stateFile(), { force: true });

/** @param {import('./supervisor.mjs').ServerSpec} spec */
export const writeRequest = (spec) => writeOwn(join(requestFolder(), `${spec.name}.json`), spec);
/** @param {string} name */
export const removeRequest = (name) => rmSync(join(requestFolder(), `${name}.json`), { force: true });

/** @typedef {import('../setup/process-identity.mjs').ProcessIdentity} ProcessIdentity */

/** @param {string} path @param {ProcessIdentity} identity */
export const writeIdentity = (path, identity) => writeOwn(path, identity);
/** @param {string} path */
export const readIdentity = (path) => /** @type {ProcessIdentity | undefined} */ (readOwn(path));

/** @returns {import('./supervisor.mjs').ServerSpec[]} */
export function readRequests() {
  const names = readdirSync(requestFolder()).filter((name) => name.endsWith('.json'));
  const found = names.map((name) => readOwn(join(requestFolder(), name)));
  return /** @type {import('./supervisor.mjs').ServerSpec[]} */ (found.filter(Boolean));
}

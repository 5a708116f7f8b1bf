// What the keeper tells and is told, as files: they outlive any of the processes and need no protocol.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../setup/files.mjs';
import { stackFolder } from '../setup/paths.mjs';

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

/** @returns {StackState | undefined} */
export const readState = () => /** @type {StackState | undefined} */ (readJson(stateFile()));
/** @param {StackState} state */
export const writeState = (state) => writeJson(stateFile(), state);
export const removeState = () => rmSync(stateFile(), { force: true });

/** @param {import('./supervisor.mjs').ServerSpec} spec */
export const writeRequest = (spec) => writeJson(join(requestFolder(), `${spec.name}.json`), spec);
/** @param {string} name */
export const removeRequest = (name) => rmSync(join(requestFolder(), `${name}.json`), { force: true });

/** @returns {import('./supervisor.mjs').ServerSpec[]} */
export function readRequests() {
  const names = readdirSync(requestFolder()).filter((name) => name.endsWith('.json'));
  const found = names.map((name) => readJson(join(requestFolder(), name)));
  return /** @type {import('./supervisor.mjs').ServerSpec[]} */ (found.filter(Boolean));
}

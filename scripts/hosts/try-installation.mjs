import assert from 'node:assert/strict';
import { join } from 'node:path';
import { parseJson } from '../setup/files.mjs';
import { showProgress } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';
import { describeError } from '../setup/setup-error.mjs';
import { formats, resolutions } from './installations.mjs';
import { installHost } from './install-host.mjs';
import { lastLineOf } from './last-line-of.mjs';
import { runHost } from './run-host.mjs';
import { writeHost } from './write-host.mjs';

const compileLimitMs = 5 * 60_000;
const sdkClasses = ['AlipayProvider', 'StripeProvider', 'WechatPayProvider', 'describePaymentProvider'];

/** @typedef {import('./installations.mjs').Installation} Installation */
/** @typedef {import('./installations.mjs').Format} Format */
/** @typedef {import('./node-binaries.mjs').NodeBinary} NodeBinary */
/**
 * @typedef {object} Options
 * @property {string} parent
 * @property {string} tarball
 * @property {NodeBinary[]} nodes
 * @property {import('./throw-away-places.mjs').Servers} servers
 * @property {AbortSignal} signal
 */
/** @typedef {{ cells: string[], failure?: string, added?: string[] }} Row  `cells`: host, packages, Node.js, closed */

/**
 * Installs, compiles, and runs the CommonJS and the ESM host of an installation.
 *
 * @param {Installation} installation
 * @param {Options} options
 * @returns {Promise<Row[]>}
 */
export async function tryInstallation(installation, options) {
  const { name } = installation;
  const result = await attempt(name, options.signal, () => installHost(installation, options));
  if (typeof result === 'string') return [{ cells: [name, '', '', 'not installed'], failure: result }];
  const rows = [];
  for (const format of formats) {
    const what = `${name}, ${format === 'module' ? 'ESM' : 'CommonJS'}`;
    const host = await attempt(what, options.signal, () => tryHost(installation, format, { ...options, ...result }));
    const packages = versionCell(installation, result.versions);
    rows.push(
      typeof host === 'string'
        ? { cells: [what, packages, '', 'failed'], failure: host, added: result.added }
        : { cells: [what, packages, ...host], added: result.added },
    );
  }
  return rows;
}

/**
 * What fails is a result: the others are still worth knowing.
 *
 * @template T
 * @param {string} what
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} work
 * @returns {Promise<T | string>} or the error
 */
async function attempt(what, signal, work) {
  try {
    return await showProgress(what, work);
  } catch (error) {
    signal.throwIfAborted();
    return describeError(error);
  }
}

/** @param {Installation} installation @param {Record<string, string>} versions */
function versionCell({ adapter }, versions) {
  const shown = ['@nestjs/core', `@nestjs/platform-${adapter}`, 'typeorm', 'typescript'];
  return shown.map((name) => `${name.replace(/^@nestjs\/(platform-)?/, '')} ${versions[name]}`).join(', ');
}

/**
 * @param {Installation} installation
 * @param {Format} format
 * @param {Options & { folder: string }} options
 * @returns {Promise<string[]>} the last two cells
 */
async function tryHost(installation, format, { folder: parent, nodes, servers, signal }) {
  const { adapter, hasSdks } = installation;
  const folder = writeHost(installation, { format, parent });
  const typescript = join(parent, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = { cwd: folder, limitMs: compileLimitMs, signal };
  for (const one of resolutions) {
    // What `bundler` resolves is for a bundler to write.
    const emit = one === 'nodenext' ? [] : ['--noEmit'];
    await run(process.execPath, [typescript, '-p', `tsconfig.${one}.json`, ...emit], {
      ...options,
      what: `tsc ${one}`,
    });
  }
  const closings = [];
  for (const { path: node, version } of nodes) {
    if (hasSdks) assert.deepEqual(parseJson(lastLineOf(await run(node, ['dist/sdks.js'], options))), sdkClasses);
    const closing = await runHost({ folder, program: `${adapter}.js`, node }, { servers, signal });
    closings.push({ version, ...closing });
  }
  const closed = closings.map(({ cause, lateMs }) => `${lateMs} ms (${cause})`).join(', ');
  return [closings.map(({ version }) => version).join(', '), closed];
}

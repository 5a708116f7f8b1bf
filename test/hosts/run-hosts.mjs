// npm run suite -- hosts [--only NAMES] [--node 20|22|24]: packs the product, installs it into generated applications,
// compiles and starts each of them, and waits until its order is closed at the deadline. docs/hosts.md
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describeError, SetupError } from '../../scripts/setup/errors.mjs';
import { parseJson } from '../../scripts/setup/files.mjs';
import { run } from '../../scripts/setup/processes.mjs';
import { showProgress } from '../../scripts/setup/progress.mjs';
import { readOptions } from '../../scripts/stack/place.mjs';
import { ensureServers } from '../../scripts/stack/servers.mjs';
import {
  formats,
  installations,
  installHost,
  nodeLines,
  obtainNodes,
  packProduct,
  resolutions,
  writeHost,
} from './installations.mjs';

/**
 * @param {string} option
 * @param {string | undefined} given  names, separated by commas
 * @param {string[]} all
 */
function choose(option, given, all) {
  const chosen = given?.split(',') ?? all;
  const unknown = chosen.find((name) => !all.includes(name));
  if (unknown === undefined) return chosen;
  throw new SetupError('USAGE', `--${option} ${unknown}: there is none`, { remedy: `some of ${all.join(', ')}` });
}

/** @param {AbortSignal} signal @returns {Promise<Servers>} */
async function startServers(signal) {
  const { postgres, 'rabbitmq-plain': broker } = await ensureServers(['rabbitmq-plain', 'postgres'], { signal });
  if (!postgres?.url || !broker?.url || !broker.managementUrl) throw new Error('the servers have no addresses');
  return { databaseUrl: postgres.url, rabbitUrl: broker.url, managementUrl: broker.managementUrl };
}

/** @param {{ args: string[], signal: AbortSignal }} context */
export async function runHosts({ args, signal }) {
  const given = readOptions(args, ['only', 'node']);
  const names = installations.map(({ name }) => name);
  const chosen = choose('only', given.only, names);
  const lines = choose('node', given.node, Object.keys(nodeLines));
  const servers = await startServers(signal);
  // Not below the clone, whose node_modules would stand in for what is missing.
  const parent = mkdtempSync(join(tmpdir(), 'order-timeout-hosts-'));
  try {
    const nodes = await showProgress(`Node.js ${lines.join(', ')}`, () => obtainNodes(lines, { parent, signal }));
    const packed = await showProgress('npm pack and npm publish --dry-run', () => packProduct(parent, signal));
    const options = { parent, tarball: packed.path, nodes, servers, signal };
    const rows = [];
    for (const one of installations.filter(({ name }) => chosen.includes(name)))
      rows.push(...(await tryInstallation(one, options)));
    printHosts(packed, rows);
    return rows.some(({ failure }) => failure !== undefined) ? 1 : 0;
  } finally {
    rmSync(parent, { recursive: true, force: true, maxRetries: 3 });
  }
}

const compileLimitMs = 5 * 60_000;
const sdkClasses = ['AlipayProvider', 'StripeProvider', 'WechatPayProvider', 'describePaymentProvider'];

/** @typedef {import('./installations.mjs').Installation} Installation */
/** @typedef {import('./installations.mjs').Format} Format */
/** @typedef {import('./installations.mjs').NodeBinary} NodeBinary */
/**
 * @typedef {object} Options
 * @property {string} parent
 * @property {string} tarball
 * @property {NodeBinary[]} nodes
 * @property {Servers} servers
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

const runLimitMs = 2 * 60_000;
/** The guarantee with a working broker is some tens of milliseconds, and the machine is busy. */
const latestMs = 5_000;

/** What test/hosts/shop/try-out.ts must find on each host. */
const expected = {
  stock: '200 application/json',
  placed: '201 application/json PENDING',
  replayed: '200 application/json PENDING',
  invalid: '400 application/problem+json VALIDATION_FAILED',
  unknown: '404 application/problem+json ORDER_NOT_FOUND',
  withoutKey: '401 application/problem+json UNAUTHORIZED',
  ready: '200 application/json ready',
  metrics: 200,
  transactions: { baskets: ['committed'], orders: ['none', 'PENDING'] },
  notified: ['400 rejected', '200 accepted', '200 application/json PAID'],
  command: 'CANCELLED',
  ownTimeout: 'hello',
};

/** @typedef {{ cause: string, lateMs: number }} Closing */

/**
 * Runs a compiled host to its end.
 *
 * @param {{ folder: string, program: string, node: string }} host  `node`: the binary
 * @param {{ servers: Servers, signal: AbortSignal }} options
 * @returns {Promise<Closing>} how its order was closed
 * @throws Error if anything else was found than what must be
 */
export async function runHost({ folder, program, node }, { servers, signal }) {
  const printed = await inThrowAwayPlaces(servers, (places) =>
    run(node, [join('dist', program)], {
      ...{ cwd: folder, env: { ...process.env, NODE_OPTIONS: '', ...places } },
      ...{ limitMs: runLimitMs, signal, what: `${program} in ${folder}` },
    }),
  );
  const { closed, ...found } = /** @type {{ closed: Closing & { to: string } }} */ (parseJson(lastLineOf(printed)));
  assert.deepEqual(found, expected);
  const { to, cause, lateMs } = closed;
  assert.equal(to, 'CLOSED');
  assert.ok(lateMs >= 0 && lateMs < latestMs, `closed ${lateMs} ms after the deadline`);
  return { cause, lateMs };
}

/** @param {string} text @returns {string} the last line that is not empty */
export const lastLineOf = (text) => text.trimEnd().split('\n').at(-1) ?? '';

/** @typedef {{ databaseUrl: string, rabbitUrl: string, managementUrl: string }} Servers */
/** @typedef {{ DATABASE_URL: string, RABBITMQ_URLS: string }} Places */

/**
 * A database and a virtual host for one run of a host, which are dropped afterwards.
 *
 * @param {Servers} servers
 * @param {(places: Places) => Promise<string>} work
 * @returns {Promise<string>} what the work returned
 */
export async function inThrowAwayPlaces({ databaseUrl, rabbitUrl, managementUrl }, work) {
  const name = `ot_host_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const manage = managementOf(managementUrl, rabbitUrl);
  await query(databaseUrl, `CREATE DATABASE ${name}`);
  await manage('PUT', `/vhosts/${name}`);
  try {
    const user = decodeURIComponent(new URL(rabbitUrl).username) || 'guest';
    await manage('PUT', `/permissions/${name}/${encodeURIComponent(user)}`);
    return await work({ DATABASE_URL: below(databaseUrl, name), RABBITMQ_URLS: below(rabbitUrl, name) });
  } finally {
    await manage('DELETE', `/vhosts/${name}`);
    await query(databaseUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  }
}

/** @param {string} server @param {string} name */
function below(server, name) {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** @param {string} connectionString @param {string} sql */
async function query(connectionString, sql) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** @param {string} managementUrl @param {string} rabbitUrl */
function managementOf(managementUrl, rabbitUrl) {
  const { origin } = new URL(managementUrl);
  const { username, password } = new URL(managementUrl).username ? new URL(managementUrl) : new URL(rabbitUrl);
  const login = `${decodeURIComponent(username) || 'guest'}:${decodeURIComponent(password) || 'guest'}`;
  const headers = {
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ configure: '.*', write: '.*', read: '.*' });
  return async (/** @type {string} */ method, /** @type {string} */ path) => {
    const response = await fetch(`${origin}/api${path}`, { method, headers, ...(method === 'PUT' && { body }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
}

const heads = ['host', 'packages', 'Node.js', 'closed after the deadline by'];

/** @typedef {import('./installations.mjs').Packed} Packed */

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

import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isAlive } from '../setup/processes.mjs';
import { isPinned, livingState, livingUsers } from './keeper-client.mjs';
import { serverHome } from './place.mjs';

/** @param {string} url @returns {string} the same without its password */
export const hidePassword = (url) => url.replace(/(:\/\/[^:/@]+):[^@]*@/, '$1:***@');

/** @param {string} path @returns {number} bytes on disk, as far as we may look */
function sizeOf(path) {
  try {
    const found = lstatSync(path);
    if (!found.isDirectory()) return found.blocks * 512;
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
  } catch {
    return 0; // Gone meanwhile, or another user's.
  }
}

const megabytes = (/** @type {number} */ bytes) => `${Math.round(bytes / 2 ** 20)} MB`;

/**
 * @typedef {{ name: string, status: string, pid?: number, version?: string, url?: string, managementUrl?: string,
 *   directory?: string, bytes: number, logFile: string, problem?: string, logTail?: string[] | undefined }} ServerStatus
 */

/** @param {[string, import('./keeper-client.mjs').ServerState]} entry @returns {ServerStatus} */
function serverStatus([name, { status, pid, startTime, access, logFile, problem, logTail }]) {
  const isRunning = status !== 'failed' && isAlive({ pid, startTime });
  const seen = status === 'ready' && !isRunning ? 'failed' : status;
  const bytes = sizeOf(access.directory ?? '');
  return {
    name,
    status: seen,
    ...(isRunning && { pid }),
    ...access,
    bytes,
    logFile,
    ...(problem && { problem, logTail }),
  };
}

function collect() {
  const state = livingState();
  const { home } = serverHome();
  return {
    running: Boolean(state),
    pinned: isPinned(state?.keeper),
    keeper: state?.keeper.pid,
    users: livingUsers().filter((pid) => isAlive(identify(pid))),
    home,
    bytes: existsSync(home) ? sizeOf(home) : 0,
    servers: Object.entries(state?.servers ?? {}).map(serverStatus),
  };
}

/** @param {ServerStatus} server */
function describeServer(server) {
  const lines = [
    `${server.name}: ${server.status}${server.pid ? `, pid ${server.pid}` : ''}, version ${server.version}`,
  ];
  if (server.problem) lines.push(`  ${server.problem}`);
  lines.push(`  ${hidePassword(server.url ?? '')}`);
  if (server.managementUrl) lines.push(`  ${hidePassword(server.managementUrl)}`);
  lines.push(`  data ${server.directory} (${megabytes(server.bytes)}), log ${server.logFile}`);
  return lines.join('\n');
}

/** @param {ReturnType<typeof collect>} status */
function describe(status) {
  if (!status.running) return `nothing runs; ${status.home} holds ${megabytes(status.bytes)}`;
  const until = status.pinned ? 'until `npm run stack -- down`' : 'until its users are gone';
  const users = status.users.length > 0 ? ` Users: ${status.users.join(', ')}.` : '';
  const head = `kept by pid ${status.keeper} ${until}.${users} ${status.home} holds ${megabytes(status.bytes)}.`;
  return [head, ...status.servers.map(describeServer)].join('\n');
}

/** @param {{ asJson: boolean }} options */
export function printStatus({ asJson }) {
  const status = collect();
  process.stdout.write(`${asJson ? JSON.stringify(status, null, 2) : describe(status)}\n`);
}

import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { codeOf, messageOf, SetupError } from '../setup/errors.mjs';
import { readJson, writeAtomically, writeJson } from '../setup/files.mjs';
import { openFolder, repository, stackFolder } from '../setup/paths.mjs';
import { isAlive } from '../setup/processes.mjs';

/** @typedef {{ uid: number, gid: number }} ServerUser */

// "nobody": PostgreSQL refuses to run as root, and a broker has no business to.
const nobody = 65_534;

/**
 * Root hands the servers to the owner of the clone, so that the owner can delete what they leave; a clone that
 * is root's own gets nobody.
 *
 * @param {{ uid: number | undefined, ownerUid: number, ownerGid: number }} facts
 * @returns {ServerUser | undefined} undefined: as the user who runs this
 */
export function chooseServerUser({ uid, ownerUid, ownerGid }) {
  if (uid !== 0) return undefined;
  return ownerUid === 0 ? { uid: nobody, gid: nobody } : { uid: ownerUid, gid: ownerGid };
}

/** @returns {ServerUser | undefined} */
export function serverUser() {
  const owner = statSync(repository);
  return chooseServerUser({ uid: process.getuid?.(), ownerUid: owner.uid, ownerGid: owner.gid });
}

/**
 * The scripts of Erlang and RabbitMQ do not quote their paths. Private brokers are made on Linux only.
 *
 * @param {string} path
 */
export const isPlainPath = (path) => /^[\w./+-]+$/.test(path) && path.length <= 120;

/**
 * @param {string} path
 * @param {ServerUser | undefined} user
 * @returns {string | undefined} why servers cannot live there
 */
function obstacle(path, user) {
  if (process.platform === 'linux' && !isPlainPath(path))
    return "its path is not of plain letters, which RabbitMQ's scripts need";
  const probe = join(path, '.reachable');
  writeFileSync(probe, '');
  chmodSync(probe, 0o644);
  if (!user || spawnSync('test', ['-r', probe], { cwd: '/', ...user }).status === 0) return undefined;
  return `user ${user.uid}, who runs the servers, has no way into it`;
}

/**
 * Where binaries and data of the servers lie: below the clone, or, where that cannot be (a clone below /root,
 * say), in a folder of the machine's temporary ones.
 *
 * @returns {{ home: string, user: ServerUser | undefined, movedBecause?: string }}
 */
export function serverHome() {
  const user = serverUser();
  const usual = stackFolder('home');
  const movedBecause = obstacle(usual, user);
  if (!movedBecause) return { home: usual, user };
  const id = createHash('sha256').update(repository).digest('hex').slice(0, 12);
  for (const parent of ['/var/tmp', tmpdir()]) {
    const home = ownFolder(join(parent, `nestjs-order-timeout-${process.getuid?.() ?? 0}-${id}`));
    if (!obstacle(home, user)) return { home, user, movedBecause };
  }
  throw new SetupError('NO_PLACE', `the servers cannot live in ${usual} (${movedBecause}), /var/tmp or ${tmpdir()}`, {
    remedy: 'move the clone to a folder that every user can walk through, with a path of plain letters',
  });
}

/** In a folder that everybody writes to, a stranger may have made this name first. @param {string} path */
function ownFolder(path) {
  openFolder(path);
  const found = lstatSync(path);
  if (found.isDirectory() && found.uid === process.getuid?.()) return path;
  throw new SetupError('FOREIGN_FOLDER', `${path} belongs to somebody else`, { remedy: `remove ${path}` });
}

/**
 * @param {string} path
 * @param {ServerUser | undefined} user  its owner, only one who may look inside
 */
export function makeServerFolder(path, user) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (user) chownSync(path, user.uid, user.gid);
  return path;
}

/**
 * @param {string} path
 * @param {string} text
 * @param {ServerUser | undefined} user
 */
export function writeServerFile(path, text, user) {
  writeFileSync(path, text, { mode: 0o600 });
  if (user) chownSync(path, user.uid, user.gid);
}

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

/** A server gets a block of this many neighboring ports. */
export const blockSize = 8;
const lowest = 20_000;
const highest = 30_000;
const mostTries = 50;

/** @returns {[number, number]} the ports that the kernel hands to outgoing connections */
function ephemeralRange() {
  try {
    const [from, to] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number);
    if (from !== undefined && to !== undefined) return [from, to];
  } catch {
    // Not on Linux.
  }
  return [32_768, 60_999];
}

/**
 * Where to look for a free block: the same seed looks at the same places first, so that a clone keeps its ports
 * and two clones hardly meet. Ephemeral ports are left out: any outgoing connection may hold one at any time.
 *
 * @param {string} seed
 * @param {[number, number]} [ephemeral]
 * @returns {number[]} first ports of blocks, best first
 */
export function candidateBlocks(seed, [from, to] = ephemeralRange()) {
  const count = Math.floor((highest - lowest) / blockSize);
  const start = createHash('sha256').update(seed).digest().readUInt32BE(0) % count;
  const all = Array.from({ length: count }, (_, index) => lowest + ((start + index) % count) * blockSize);
  const outside = all.filter((base) => base + blockSize <= from || base > to);
  return (outside.length > 0 ? outside : all).slice(0, mostTries);
}

/**
 * @param {number} port
 * @returns {Promise<import('node:net').Server | undefined>} the holder of the port, or undefined when it is taken
 */
function hold(port) {
  return new Promise((resolve) => {
    const server = createServer().unref();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

/** @param {number} port */
export async function isFree(port) {
  const server = await hold(port);
  if (!server) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/** @param {number} base */
export async function isBlockFree(base) {
  for (let port = base; port < base + blockSize; port += 1) if (!(await isFree(port))) return false;
  return true;
}

/**
 * @param {string} seed
 * @param {number[]} [promised]  blocks that are somebody's already, in use or not
 * @returns {Promise<number>} first port of a block that was free a moment ago
 */
export async function findFreeBlock(seed, promised = []) {
  const candidates = candidateBlocks(seed).filter((base) => !promised.includes(base));
  for (const base of candidates) if (await isBlockFree(base)) return base;
  throw noFreeBlock();
}

/**
 * A free block that nobody else takes by this function for as long as this process lives: its last port is held
 * as the mark, and the kernel gives a port to one process only.
 *
 * @param {string} seed
 * @returns {Promise<number>}
 */
export async function reserveFreeBlock(seed) {
  for (const base of candidateBlocks(seed)) {
    if (!(await isBlockFree(base))) continue;
    if (await hold(base + blockSize - 1)) return base;
  }
  throw noFreeBlock();
}

function noFreeBlock() {
  return new SetupError('NO_FREE_PORTS', `no ${blockSize} free neighboring ports between ${lowest} and ${highest}`, {
    remedy: 'end what listens there (ss -ltnp)',
  });
}

/**
 * Folder, ports and user of a throw-away server.
 *
 * @param {string | undefined} wanted  a folder; without it one is made, and removed at the end
 * @param {{ inMemory?: boolean }} [options]  where there is room
 * @returns {Promise<{ home: string, user: ServerUser | undefined, directory: string, basePort: number }>}
 */
export async function throwAwayPlace(wanted, { inMemory = false } = {}) {
  const { home, user } = serverHome();
  const parent = (inMemory && memoryFolder()) || openFolder(join(home, 'throw-away'));
  const directory = wanted ? resolve(wanted) : temporaryFolder(parent);
  if (!isPlainPath(directory)) {
    throw new SetupError('BAD_DIRECTORY', `${directory}: only plain letters, digits and ._+-/ in the path`, {
      remedy: 'name another --directory',
    });
  }
  makeServerFolder(directory, user);
  return { home, user, directory, basePort: await reserveFreeBlock(directory) };
}

const memory = '/dev/shm';
const roomBytes = 2 ** 30;

/** @returns {string | undefined} a folder in the memory of a Linux that has room for a small database */
function memoryFolder() {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize < roomBytes ? undefined : ownFolder(join(memory, `order-timeout-${process.getuid?.()}`));
  } catch {
    // None, or not for us.
    return undefined;
  }
}

/** @param {string} parent */
function temporaryFolder(parent) {
  removeAbandoned(parent);
  const directory = mkdtempSync(join(parent, `${process.pid}-`));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));
  return directory;
}

/** What a killed one could not remove. @param {string} parent */
function removeAbandoned(parent) {
  const abandoned = readdirSync(parent).filter((name) => !isAlive({ pid: Number.parseInt(name, 10), startTime: '' }));
  for (const name of abandoned) rmSync(join(parent, name), { recursive: true, force: true });
}

/**
 * @param {string[]} args
 * @param {string[]} names  of options that take a value
 * @returns {Record<string, string | undefined>}
 */
export function readOptions(args, names) {
  const options = Object.fromEntries(names.map((name) => [name, { type: /** @type {const} */ ('string') }]));
  try {
    return parseArgs({ args, options }).values;
  } catch (cause) {
    const remedy = `options: ${names.map((name) => `--${name}`).join(' ')}`;
    throw new SetupError('USAGE', messageOf(cause), { remedy, cause });
  }
}

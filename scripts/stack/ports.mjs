import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { SetupError } from '../setup/setup-error.mjs';

/** A server gets a block of this many neighbouring ports. */
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
  return new SetupError('NO_FREE_PORTS', `no ${blockSize} free neighbouring ports between ${lowest} and ${highest}`, {
    remedy: 'end what listens there (ss -ltnp)',
  });
}

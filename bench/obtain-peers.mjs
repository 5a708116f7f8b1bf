import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from '../scripts/setup/build.mjs';
import { run } from '../scripts/setup/processes.mjs';
import { obtainOnce } from '../scripts/stack/debian-packages.mjs';
import { obtainRedis } from '../scripts/stack/other-servers.mjs';
import { serverHome } from '../scripts/stack/place.mjs';

/**
 * What the product is measured against, downloaded the first time.
 *
 * @param {import('../scripts/setup/progress.mjs').StepOptions} options
 * @returns {Promise<{ OT_BENCH_PEERS: string, OT_BENCH_NODE: string, OT_BENCH_REDIS: string }>} environment of the
 *   program: folder with node_modules, the Node to run them with, and redis-server
 */
export async function obtainPeers({ signal, note }) {
  const { home } = serverHome();
  const { folder, node } = await obtainPeerPackages({ home, signal, note });
  const redis = await obtainRedis({ home, signal, note });
  return { OT_BENCH_PEERS: folder, OT_BENCH_NODE: node, OT_BENCH_REDIS: redis };
}

const limitMs = 5 * 60_000;
// The oldest that graphile-worker 0.18 runs on; pg-boss 12 takes an older one.
const oldestNode = /** @type {const} */ ([22, 18]);
const nodeVersion = '24.21.0';

const missing = {
  code: 'NO_PEERS',
  message: 'the packages of the peers are not to be had from npm',
  remedy: 'look whether the npm registry can be reached',
};

const versions = {
  amqplib: '2.3.1',
  bullmq: '6.7.0',
  'graphile-worker': '0.18.0',
  ioredis: '6.0.0',
  pg: '8.23.1',
  'pg-boss': '12.35.0',
};

/** @typedef {{ folder: string, node: string }} PeerPackages `folder` holds node_modules, `node` runs them */

/**
 * The packages of the peers in a folder of their own, which the product never sees, and a Node that they run on.
 *
 * @param {import('../scripts/setup/progress.mjs').StepOptions & { home: string }} options
 * @returns {Promise<PeerPackages>}
 */
export async function obtainPeerPackages({ home, signal, note }) {
  const nodePackage = isNewEnough(process.versions.node) ? undefined : `node-${process.platform}-${process.arch}`;
  const packages = { ...versions, ...(nodePackage && { [nodePackage]: nodeVersion }) };
  const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 12);
  const parent = join(home, 'bench-peers');
  const folder = join(parent, key);
  await obtainOnce({
    ...{ name: 'peers', limitMs, missing, signal, note },
    find: () => existsSync(folder),
    download: () => install(packages, { parent, folder, signal, note }),
  });
  const node = nodePackage ? join(folder, 'node_modules', nodePackage, 'bin', 'node') : process.execPath;
  return { folder, node };
}

/** @param {string} version */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
}

/**
 * @param {Record<string, string>} packages  versions by name
 * @param {import('../scripts/setup/progress.mjs').StepOptions & { parent: string, folder: string }} options
 */
async function install(packages, { parent, folder, signal, note }) {
  const aside = `${folder}.download`;
  // Folders of other versions are of no use any more, and a Node is 100 MB.
  for (const name of existsSync(parent) ? readdirSync(parent) : []) rmSync(join(parent, name), { recursive: true });
  mkdirSync(aside, { recursive: true });
  writeFileSync(join(aside, 'package.json'), JSON.stringify({ private: true, dependencies: packages }, null, 2));
  note?.(`downloading ${Object.keys(packages).join(', ')}`);
  try {
    await run(...npm(['install', '--no-audit', '--no-fund', '--ignore-scripts']), { cwd: aside, limitMs, signal });
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

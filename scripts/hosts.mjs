// npm run suite -- hosts [--only NAMES] [--node 20|22|24]: packs the product, installs it into generated applications,
// compiles and starts each of them, and waits until its order is closed at the deadline. docs/hosts.md
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installations } from './hosts/installations.mjs';
import { nodeLines, obtainNodes } from './hosts/node-binaries.mjs';
import { packProduct } from './hosts/pack-product.mjs';
import { printHosts } from './hosts/print-hosts.mjs';
import { tryInstallation } from './hosts/try-installation.mjs';
import { showProgress } from './setup/progress.mjs';
import { SetupError } from './setup/setup-error.mjs';
import { ensureServers } from './stack/servers.mjs';
import { readOptions } from './stack/throw-away-place.mjs';

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

/** @param {AbortSignal} signal @returns {Promise<import('./hosts/throw-away-places.mjs').Servers>} */
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

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from '../setup/files.mjs';
import { npm } from '../setup/npm.mjs';
import { repository } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';
import { packagesOf } from './installations.mjs';

const limitMs = 5 * 60_000;
const product = 'nestjs-order-timeout';

/** @typedef {{ packages: Record<string, { version: string }> }} Lock */
/** @typedef {{ folder: string, added: string[], versions: Record<string, string> }} Installed `added`: paths of packages */

/** The SDKs of the payment providers in the versions that the product is developed with. */
function sdks() {
  const manifest = readJson(join(repository, 'package.json'));
  const { devDependencies } = /** @type {{ devDependencies: Record<string, string> }} */ (manifest);
  const names = ['alipay-sdk', 'stripe', 'wechatpay-axios-plugin'];
  return Object.fromEntries(names.map((name) => [name, devDependencies[name] ?? 'missing']));
}

/**
 * Installs the packages of a host, and then the product, as its user does.
 *
 * @param {import('./installations.mjs').Installation} installation
 * @param {{ parent: string, tarball: string, signal: AbortSignal }} options
 * @returns {Promise<Installed>}
 * @throws Error if npm has to resolve a conflict, or if a package is there twice
 */
export async function installHost(installation, { parent, tarball, signal }) {
  const folder = join(parent, installation.name);
  mkdirSync(folder);
  const manifest = { private: true, ...packagesOf(installation, sdks()) };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  const install = (/** @type {string[]} */ ...args) =>
    run(...npm(['install', '--no-audit', '--no-fund', '--prefer-offline', '--strict-peer-deps', ...args]), {
      ...{ cwd: folder, limitMs, signal, what: `npm install for ${installation.name}` },
    });
  await install();
  const before = packagesIn(folder);
  await install(tarball);
  const after = packagesIn(folder);
  assertNothingTwice(installation, Object.keys(after));
  const ours = [`node_modules/${product}`, 'node_modules/@nestjs/microservices'];
  const added = Object.keys(after).filter((path) => !(path in before) && !ours.includes(path));
  return { folder, added, versions: versionsOf(after) };
}

/** @param {string} folder */
function packagesIn(folder) {
  return /** @type {Lock} */ (readJson(join(folder, 'node_modules', '.package-lock.json'))).packages;
}

/** @param {Lock['packages']} packages */
const versionsOf = (packages) =>
  Object.fromEntries(
    Object.entries(packages).map(([path, { version }]) => [path.replace('node_modules/', ''), version]),
  );

/**
 * Two copies of NestJS cannot see each other's providers, and two HTTP servers are one too many.
 *
 * @param {import('./installations.mjs').Installation} installation
 * @param {string[]} paths
 */
export function assertNothingTwice({ adapter }, paths) {
  const own = paths.filter((path) => path.startsWith(`node_modules/${product}/`));
  if (own.length > 0) throw new Error(`packages that only the product has: ${own.join(', ')}`);
  const other = `@nestjs/platform-${adapter === 'express' ? 'fastify' : 'express'}`;
  const nest = paths.filter((path) => /\/(@nestjs\/[\w-]+|express|fastify|typeorm|pg|rxjs)$/.test(path));
  const names = nest.map((path) => path.replace(/^.*node_modules\//, ''));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0) throw new Error(`installed twice: ${twice.join(', ')}`);
  if (names.includes(other)) throw new Error(`${other} is installed, and the host did not ask for it`);
}

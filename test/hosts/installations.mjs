import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { npm } from '../../scripts/setup/build.mjs';
import { parseJson, readJson } from '../../scripts/setup/files.mjs';
import { repository } from '../../scripts/setup/paths.mjs';
import { run } from '../../scripts/setup/processes.mjs';

/**
 * @typedef {'express' | 'fastify'} Adapter
 * @typedef {object} Installation  the packages of some hosts
 * @property {string} name
 * @property {string} nest
 * @property {string} typeorm
 * @property {Adapter} adapter
 * @property {string} typescript
 * @property {Record<string, string>} [others]  versions of other packages
 * @property {boolean} [hasSdks]
 */

/** The lowest versions that the peer ranges of package.json allow. */
export const LOWEST = { nest: '11.0.1', typeorm: '0.3.20', pg: '8.16.0', rxjs: '7.8.0', 'reflect-metadata': '0.2.0' };

/**
 * Every pair of two values of NestJS, TypeORM, and adapter, and the lowest versions.
 *
 * @type {Installation[]}
 */
export const installations = [
  {
    name: 'lowest',
    nest: LOWEST.nest,
    typeorm: LOWEST.typeorm,
    adapter: 'express',
    typescript: '~5.7',
    others: LOWEST,
  },
  { name: 'nest-11-express', nest: '^11', typeorm: '^0.3', adapter: 'express', typescript: '~5.9' },
  { name: 'nest-11-fastify', nest: '^11', typeorm: '^1', adapter: 'fastify', typescript: '~5.9' },
  { name: 'nest-12-fastify', nest: '^12', typeorm: '^0.3', adapter: 'fastify', typescript: '~6.0' },
  { name: 'nest-12-express', nest: '^12', typeorm: '^1', adapter: 'express', typescript: '~6.0', hasSdks: true },
];

/** @typedef {'commonjs' | 'module'} Format */
/** @type {Format[]} */
export const formats = ['commonjs', 'module'];

const majorOf = (/** @type {string} */ range) => Number(/\d+/.exec(range)?.[0]);

/** The values of `moduleResolution` that fit Node.js. */
export const resolutions = /** @type {const} */ (['node16', 'nodenext', 'bundler']);

/**
 * `module` for a value of `moduleResolution`. `node16` lets no CommonJS file import NestJS 12, which is published as ES
 * modules, and `node20` does.
 *
 * @param {Installation} installation
 * @param {typeof resolutions[number]} resolution
 */
export function moduleFor({ nest }, resolution) {
  if (resolution === 'bundler') return 'preserve';
  return resolution === 'node16' && majorOf(nest) >= 12 ? 'node20' : resolution;
}

/**
 * The packages of a host before it installs ours.
 *
 * @param {Installation} installation
 * @param {Record<string, string>} sdks
 */
export function packagesOf({ nest, typeorm, adapter, typescript, others, hasSdks = false }, sdks) {
  return {
    dependencies: {
      '@nestjs/common': nest,
      '@nestjs/core': nest,
      // npm installs it with the product, as a peer, in the version that fits.
      ...(others && { '@nestjs/microservices': nest }),
      [`@nestjs/platform-${adapter}`]: nest,
      '@nestjs/typeorm': `^${majorOf(nest)}`,
      amqplib: '^2',
      pg: others?.pg ?? '^8',
      'reflect-metadata': others?.['reflect-metadata'] ?? '^0.2',
      rxjs: others?.rxjs ?? '^7',
      typeorm,
      ...(hasSdks ? sdks : {}),
    },
    devDependencies: {
      '@types/node': '^20',
      // The declarations of @nestjs/platform-express import them.
      ...(adapter === 'express' ? { '@types/express': '^5' } : {}),
      typescript,
    },
  };
}

const limitMs = 5 * 60_000;

/** @typedef {{ filename: string, size: number, unpackedSize: number, files: { path: string }[] }} Packed */

/**
 * Packs the product and publishes it in a dry run, both from a fresh copy of what git knows: nothing that lies around
 * in this folder can get in, and nothing here is built again.
 *
 * @param {string} parent
 * @param {AbortSignal} signal
 * @returns {Promise<Packed & { path: string }>}
 */
export async function packProduct(parent, signal) {
  const clone = join(parent, 'clone');
  await copyTracked(clone, signal);
  const call = (/** @type {string[]} */ args) => run(...npm(args), { cwd: clone, limitMs, signal });
  const printed = await call(['pack', '--json', '--pack-destination', parent]);
  // What the build says stands before the JSON.
  const [packed] = /** @type {Packed[]} */ (parseJson(printed.slice(printed.indexOf('[\n'))));
  if (!packed) throw new Error(`npm pack printed no package: ${printed}`);
  await call(['publish', '--dry-run', '--ignore-scripts']);
  await call(['publish', '--dry-run', '--workspace', 'packages/payment-simulator']);
  return { ...packed, path: join(parent, packed.filename) };
}

/** @param {string} target @param {AbortSignal} signal */
async function copyTracked(target, signal) {
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    ...{ cwd: repository, limitMs, signal },
  });
  for (const file of listed.split('\0').filter((name) => name !== '' && name !== 'node_modules')) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(repository, file), join(target, file));
  }
  symlinkSync(join(repository, 'node_modules'), join(target, 'node_modules'));
}

const product = 'nestjs-order-timeout';

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
 * @param {Installation} installation
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
 * @param {Installation} installation
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

const sources = join(repository, 'test', 'hosts', 'shop');
/**
 * Writes the folder of a host below its packages.
 *
 * @param {Installation} installation
 * @param {{ format: Format, parent: string }} options
 * @returns {string} the folder, with a tsconfig file for each resolution
 */
export function writeHost(installation, { format, parent }) {
  const { adapter, hasSdks = false } = installation;
  const folder = join(parent, format);
  mkdirSync(folder);
  writeJson(join(folder, 'package.json'), { private: true, type: format });
  const left = [`${adapter === 'express' ? 'fastify' : 'express'}.ts`, ...(hasSdks ? [] : ['sdks.ts'])];
  const filter = (/** @type {string} */ path) => !left.some((name) => path.endsWith(`/${name}`));
  cpSync(sources, join(folder, 'src'), { recursive: true, filter });
  for (const one of resolutions) {
    const compilerOptions = optionsOf({ module: moduleFor(installation, one), moduleResolution: one });
    writeJson(join(folder, `tsconfig.${one}.json`), { compilerOptions });
  }
  return folder;
}

/** As strict as hosts are. @param {{ module: string, moduleResolution: string }} modules */
const optionsOf = (modules) => ({
  target: 'ES2022',
  ...modules,
  types: ['node'],
  rootDir: './src',
  outDir: './dist',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  esModuleInterop: true,
});

/** @param {string} path @param {unknown} value */
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** The supported lines, each from the first release that can require ES modules. */
export const nodeLines = /** @type {Record<string, string>} */ ({ 20: '^20.19.0', 22: '^22.12.0', 24: '^24.0.0' });

/** @typedef {{ version: string, path: string }} NodeBinary */

/**
 * Node.js as npm has it: the newest release of each line.
 *
 * @param {string[]} lines
 * @param {{ parent: string, signal: AbortSignal }} options
 * @returns {Promise<NodeBinary[]>}
 */
export async function obtainNodes(lines, { parent, signal }) {
  const folder = join(parent, 'node');
  const name = `node-${process.platform}-${process.arch}`;
  mkdirSync(folder);
  const dependencies = Object.fromEntries(lines.map((line) => [`node-${line}`, `npm:${name}@${nodeLines[line]}`]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await run(...npm(['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']), {
    ...{ cwd: folder, limitMs, signal, what: 'npm install of Node.js' },
  });
  return Promise.all(
    lines.map(async (line) => {
      const path = join(folder, 'node_modules', `node-${line}`, 'bin', 'node');
      return { path, version: (await run(path, ['--version'], { limitMs, signal })).trim().slice(1) };
    }),
  );
}

/** @typedef {{ version: string, dependencies?: Record<string, string>, peerDependencies?: Record<string, string>, peerDependenciesMeta?: Record<string, { optional?: boolean }> }} LockedPackage */
/** @typedef {{ packages: Record<string, LockedPackage> }} Lock  package-lock.json */

/**
 * The packages that installing the product adds to a host that has its peers.
 *
 * @param {Lock} lock
 * @returns {string[]} sorted names
 */
export function addedPackages(lock) {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = lock.packages[''] ?? {};
  const required = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  const present = closure(lock, required);
  return [...closure(lock, Object.keys(dependencies))]
    .filter((path) => !present.has(path))
    .map((path) => path.replace(/^.*node_modules\//, ''))
    .sort();
}

/** The paths of the packages and of all that they need. @param {Lock} lock @param {string[]} names */
function closure(lock, names) {
  /** @type {Set<string>} */
  const found = new Set();
  const add = (/** @type {string} */ name, /** @type {string} */ from) => {
    const path = resolve(lock, name, from);
    if (path === undefined || found.has(path)) return;
    found.add(path);
    for (const one of Object.keys(lock.packages[path]?.dependencies ?? {})) add(one, path);
  };
  for (const name of names) add(name, '');
  return found;
}

/**
 * As Node.js does: the nearest folder above that has it.
 *
 * @param {Lock} lock
 * @param {string} name
 * @param {string} from
 * @returns {string | undefined}
 */
function resolve(lock, name, from) {
  for (let folder = from; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    const path = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`;
    if (path in lock.packages) return path;
    if (folder === '') return undefined;
  }
}

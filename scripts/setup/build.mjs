import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { contentStamp, readJson } from './files.mjs';
import { withLock } from './lock.mjs';
import { repository, stackFolder } from './paths.mjs';
import { run, runInForeground } from './processes.mjs';
import { noteWhileWaiting, showProgress } from './progress.mjs';

const limitMs = 10 * 60_000;

/** @typedef {{ packages?: Record<string, { version?: string, optional?: boolean, link?: boolean }> }} LockFile */

/**
 * npm writes what it installed into node_modules/.package-lock.json, as its very last step. Comparing it with
 * package-lock.json sees an install that was cut short, a changed lock file, and an install made manually.
 *
 * @param {LockFile | undefined} wanted     package-lock.json
 * @param {LockFile | undefined} installed  node_modules/.package-lock.json
 * @returns {boolean}
 */
export function isInstalled(wanted, installed) {
  const present = installed?.packages;
  if (!present) return false;
  return Object.entries(wanted?.packages ?? {}).every(([path, { version, optional, link }]) => {
    // The root and the workspaces are not installed; what is optional may be for another platform.
    if (!path.includes('node_modules/') || optional || link) return true;
    return present[path]?.version === version;
  });
}

const readLock = (/** @type {string[]} */ ...path) =>
  /** @type {LockFile | undefined} */ (readJson(join(repository, ...path)));
const areInstalled = () => isInstalled(readLock('package-lock.json'), readLock('node_modules', '.package-lock.json'));

/**
 * @param {{ signal?: AbortSignal | undefined }} [options]
 */
export async function ensureDependencies({ signal } = {}) {
  if (areInstalled()) return;
  await showProgress('dependencies (npm ci)', (note) =>
    withLock(
      'dependencies',
      { limitMs, signal, whileWaiting: noteWhileWaiting(note, 'another run installs them') },
      async () => {
        if (!areInstalled()) await install(signal);
      },
    ),
  );
}

/**
 * Installs the packages of a folder that has a package.json of its own, because most commands do not need them. Their
 * scripts do not run.
 *
 * @param {string} folder  below the repository
 * @param {string} what  in words
 * @param {AbortSignal} signal
 */
export async function ensurePackagesOf(folder, what, signal) {
  if (isInstalled(readLock(folder, 'package-lock.json'), readLock(folder, 'node_modules', '.package-lock.json')))
    return;
  const [command, args] = npm(['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']);
  const options = { cwd: join(repository, folder), limitMs, signal, what: `npm ci in ${folder}` };
  await showProgress(`${what} (npm ci)`, () => run(command, args, options));
}

/** @param {AbortSignal | undefined} signal */
async function install(signal) {
  const logFile = join(stackFolder('log'), 'npm-ci.log');
  rmSync(logFile, { force: true });
  // Development packages too, whatever NODE_ENV says: they build and test.
  await run(...npm(['ci', '--include=dev', '--no-audit', '--no-fund']), {
    cwd: repository,
    limitMs,
    signal,
    logFile,
    what: 'npm ci',
    remedy: 'read what npm says above; is the package registry reachable (npm ping)?',
  });
}

const buildLimitMs = 5 * 60_000;
const configuration = ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

/** @typedef {{ name: string, command: [string, string[]], output: string, inputs: string[] }} Build */

const node = (/** @type {string[]} */ ...args) => /** @type {[string, string[]]} */ ([process.execPath, args]);

/** @type {Build} */
export const serviceBuild = {
  name: 'service',
  command: node(join('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build'),
  output: 'dist',
  inputs: ['src', ...configuration],
};
/** @type {Build} The build of the service empties dist, so this one follows it. */
export const pageBuild = {
  name: 'page',
  command: node(join('packages', 'operator-page', 'build.mjs')),
  output: 'dist/operator-page',
  inputs: [
    'packages/operator-page/src',
    'packages/operator-page/package.json',
    'packages/operator-page/build.mjs',
    ...configuration,
  ],
};
/** @type {Build} */
export const simulatorBuild = {
  name: 'simulator',
  command: npm(['run', '--silent', 'build', '--workspace', 'packages/payment-simulator']),
  output: 'packages/payment-simulator/dist',
  // Not the whole folder, as the output is in it.
  inputs: [
    'packages/payment-simulator/src',
    'packages/payment-simulator/package.json',
    'packages/payment-simulator/tsconfig.json',
    ...configuration,
  ],
};
// Inside the output, so that deleting the output deletes the claim that it is up to date.
const stampFile = (/** @type {Build} */ { output }) => join(repository, output, '.content-stamp');

/** @param {Build} build @param {string} stamp */
function isUpToDate(build, stamp) {
  return existsSync(stampFile(build)) && readFileSync(stampFile(build), 'utf8') === stamp;
}

/**
 * Builds what has changed since it was built last.
 *
 * @param {Build} build
 * @param {{ signal?: AbortSignal | undefined }} [options]
 */
async function ensureBuild(build, { signal } = {}) {
  if (isUpToDate(build, contentStamp(repository, build.inputs))) return;
  await showProgress(`npm run build -- ${build.name}`, (note) =>
    withLock(
      `build-${build.name}`,
      { limitMs: buildLimitMs, signal, whileWaiting: noteWhileWaiting(note, 'another run builds it') },
      () => make(build, signal),
    ),
  );
}

/** @param {{ signal?: AbortSignal | undefined, builds?: Build[] }} [options] */
export async function ensureBuilds({ signal, builds = [serviceBuild, pageBuild, simulatorBuild] } = {}) {
  for (const build of builds) await ensureBuild(build, { signal });
}

/** @param {Build} build @param {AbortSignal | undefined} signal */
async function make(build, signal) {
  // Taken before the build: what changes meanwhile is built again next time.
  const stamp = contentStamp(repository, build.inputs);
  if (isUpToDate(build, stamp)) return;
  await run(...build.command, {
    cwd: repository,
    limitMs: buildLimitMs,
    signal,
    what: `npm run build -- ${build.name}`,
    remedy: 'fix the errors of the compiler above; if there are none, run it again while the machine is less busy',
  });
  writeFileSync(stampFile(build), stamp);
}

/**
 * The npm that runs us, else the one that came with this Node, else whatever the PATH has.
 *
 * @param {string[]} args
 * @returns {[string, string[]]} command and arguments
 */
export function npm(args) {
  const candidates = [
    process.env.npm_execpath,
    join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  const script = candidates.find((path) => path && basename(path) === 'npm-cli.js' && existsSync(path));
  if (script) return [process.execPath, [script, ...args]];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm', args];
}

const compiler = join(repository, 'test', 'support', 'compile-on-require.js');

/**
 * Arguments of Node for a program that is compiled as it is loaded: nothing to build, and nothing that could be out of
 * date.
 *
 * @param {string} program  below the repository
 * @param {string[]} args
 */
export const typescript = (program, args) => [
  // NestJS is published as ES modules; that Node can require them is still called experimental by Node 20.
  '--disable-warning=ExperimentalWarning',
  '--enable-source-maps',
  ...['-r', compiler, join(repository, program), ...args],
];

/**
 * @param {string} program  below the repository
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, signal: AbortSignal }} options  `env`: beside our own
 * @returns {Promise<number>} its exit code
 */
export const runTypescript = (program, args, { env, signal }) =>
  runInForeground(process.execPath, typescript(program, args), {
    cwd: repository,
    env: { ...process.env, ...env },
    signal,
  });

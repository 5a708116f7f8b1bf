import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, logTailOf, SetupError } from '../setup/errors.mjs';
import { withLock } from '../setup/lock.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { run } from '../setup/processes.mjs';
import { noteWhileWaiting } from '../setup/progress.mjs';

/**
 * What is there already, else what is downloaded the first time, by one run of this clone at a time.
 *
 * @template T
 * @param {import('../setup/progress.mjs').StepOptions & { name: string, limitMs: number, find: () => T | undefined,
 *   download: () => Promise<void>, missing: { code: string, message: string, remedy: string } }} options
 *   `missing`: what to say when it cannot be had
 * @returns {Promise<T>}
 */
export async function obtainOnce({ name, limitMs, find, download, missing, signal, note }) {
  const found = find();
  if (found) return found;
  const fail = (/** @type {unknown} */ cause) =>
    new SetupError(missing.code, missing.message, { remedy: missing.remedy, logTail: logTailOf(cause), cause });
  const downloadOnce = async () => {
    try {
      await download();
    } catch (error) {
      // What speaks for itself.
      if (signal?.aborted || codeOf(error) === `SETUP/${missing.code}`) throw error;
      throw fail(error);
    }
  };
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock(`${name}-download`, { limitMs, signal, whileWaiting }, async () => {
    if (!find()) await downloadOnce();
    const made = find();
    if (made) return made;
    throw fail(undefined);
  });
}

// Debian's packages without root and without a trace on the machine: fetched by apt with lists and cache of our own, and
// unpacked instead of installed.
const limitMs = 5 * 60_000;

/**
 * @param {string} output  of `apt-get --simulate install`
 * @returns {string[]} packages that would be newly installed; upgrades of what the machine has are left out
 */
export const newPackages = (output) => [...output.matchAll(/^Inst (\S+) \(/gm)].map(([, name = '']) => name);

/** @param {string} work */
function aptConfiguration(work) {
  return `
Dir::State "${work}/state";
Dir::State::lists "${work}/state/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "${work}/cache";
Dir::Log "${work}/log";
APT::Sandbox::User "root";
Acquire::Retries "2";
Acquire::Languages "none";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
// The machine's hooks look after the machine's own lists.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
`;
}

/**
 * The machine's apt configuration, with ours read after it.
 *
 * @param {string} work
 * @returns {NodeJS.ProcessEnv}
 */
export function privateApt(work) {
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'log', 'conf.d', 'packages']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  for (const name of existsSync('/etc/apt/apt.conf.d') ? readdirSync('/etc/apt/apt.conf.d') : []) {
    tryCopy(join('/etc/apt/apt.conf.d', name), join(work, 'conf.d', name));
  }
  writeFileSync(join(work, 'conf.d', 'zzz-private'), aptConfiguration(work));
  writeFileSync(join(work, 'apt.conf'), `Dir::Etc::parts "${work}/conf.d";\n`);
  return { ...process.env, APT_CONFIG: join(work, 'apt.conf'), LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
}

/** What only root may read does not concern us. @param {string} from @param {string} to */
function tryCopy(from, to) {
  try {
    cpSync(from, to, { dereference: true });
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error;
  }
}

/** @typedef {(apt: (args: string[]) => Promise<string>) => Promise<string[]>} Resolve  names of the packages */

/**
 * @param {object} options
 * @param {string} options.target  the folder that becomes their root
 * @param {boolean} options.shared  another user must be able to read the files
 * @param {string} options.log  name of apt's log
 * @param {Resolve} options.resolve
 * @param {(unpacked: string) => void} [options.relocate]  for what knows its place by heart
 * @param {AbortSignal | undefined} [options.signal]
 * @param {((text: string) => void) | undefined} [options.note]
 */
export async function unpackPackages({ target, shared, log, resolve, relocate, signal, note }) {
  const work = `${target}.download`;
  rmSync(work, { recursive: true, force: true });
  rmSync(target, { recursive: true, force: true });
  try {
    const packages = await fetchPackages({ work, log, resolve, signal, note });
    note?.(`unpacking ${packages.length} packages`);
    const unpacked = join(work, 'root');
    for (const path of packages) await run('dpkg', ['-x', path, unpacked], { limitMs, signal });
    relocate?.(unpacked);
    // A strict umask would lock out the user that the servers run as.
    if (shared) await run('chmod', ['-R', 'a+rX', unpacked], { limitMs, signal });
    renameSync(unpacked, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {import('../setup/progress.mjs').StepOptions & { work: string, log: string, resolve: Resolve }} options
 * @returns {Promise<string[]>} paths of .deb files
 */
async function fetchPackages({ work, log, resolve, signal, note }) {
  const env = privateApt(work);
  const folder = join(work, 'packages');
  const logFile = join(stackFolder('log'), `${log}.log`);
  const apt = (/** @type {string[]} */ args) => run('apt-get', args, { cwd: folder, env, limitMs, signal, logFile });
  note?.('reading the lists of packages');
  await apt(['update']);
  const names = await resolve(apt);
  note?.(`downloading ${names.length} packages`);
  await apt(['download', ...names]);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.deb'))
    .map((name) => join(folder, name));
}

const installLimitMs = 8 * 60_000;

/** @typedef {import('../setup/progress.mjs').StepOptions} StepOptions */

/**
 * Installs what is missing, if we may.
 *
 * @param {string[]} packages  of Debian
 * @param {StepOptions & { code: string, otherwise: string }} options  `code`: of the error; `otherwise`: what else a
 *   person can do
 */
export async function ensureDebianPackages(packages, { signal, note, code, otherwise }) {
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    throw new SetupError(code, `${missing.join(', ')} is not installed`, {
      remedy: `run ${command} as root, or ${otherwise}`,
    });
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  note?.('reading the lists of packages');
  await run('apt-get', ['update'], { limitMs: installLimitMs, signal, env });
  note?.(`installing ${missing.join(', ')}`);
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...missing], {
    limitMs: installLimitMs,
    signal,
    env,
    what: command,
  });
}

/** @param {string} name */
function isInstalled(name) {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f=${Status}', name], { encoding: 'utf8' });
  return stdout?.includes('install ok installed') ?? false;
}

const place = '/usr/bin/chromium';
/** The pictures are compared with pictures in these fonts. */
const packages = ['chromium', 'fonts-liberation', 'fonts-wqy-microhei'];

/**
 * Chromium of the variable CHROMIUM, or of the distribution, which is installed if it is missing.
 *
 * @param {StepOptions} options
 * @returns {Promise<string>} its path
 */
export async function ensureChromium(options) {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const otherwise = 'set CHROMIUM to the path of a Chromium';
  await ensureDebianPackages(packages, { ...options, code: 'NO_CHROMIUM', otherwise });
  return place;
}

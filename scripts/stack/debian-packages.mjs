// Debian's packages without root and without a trace on the machine: fetched by apt with lists and cache of our own, and
// unpacked instead of installed.
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../setup/error-code.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';

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

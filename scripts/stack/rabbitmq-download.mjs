// RabbitMQ without root and without a trace on the machine: the distribution's own packages, fetched by apt
// with lists and cache of our own, and unpacked instead of installed.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stackFolder } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';

const limitMs = 5 * 60_000;
const rabbitmqRemedy =
  'start a Docker engine, or install RabbitMQ (apt-get install rabbitmq-server), or set RABBITMQ_URLS to a running one';

/**
 * @param {string} output  of `apt-get --simulate install`
 * @returns {string[]} packages that would be newly installed; upgrades of what the machine has are left out
 */
export const newPackages = (output) => [...output.matchAll(/^Inst (\S+) \(/gm)].map(([, name]) => name);

/** @param {string[]} names */
export const brokerPackages = (names) => names.filter((name) => /^(rabbitmq-server$|erlang-)/.test(name));

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

/** What only root may read does not concern us. */
function tryCopy(from, to) {
  try {
    cpSync(from, to, { dereference: true });
  } catch (error) {
    if (error.code !== 'EACCES') throw error;
  }
}

/** @param {(args: string[]) => Promise<string>} apt */
async function resolvePackages(apt) {
  const install = ['--simulate', 'install', '--no-install-recommends'];
  // As if nothing were installed: half an Erlang on the machine is of no use to a relocated one.
  const all = await apt([...install, '-o', 'Dir::State::status=/dev/null', 'rabbitmq-server']);
  const wanted = brokerPackages(newPackages(all));
  if (!wanted.includes('rabbitmq-server')) throw noRabbitmq();
  const erlang = wanted.filter((name) => name !== 'rabbitmq-server');
  const missing = newPackages(await apt([...install, ...erlang]));
  return [...wanted, ...missing.filter((name) => name.startsWith('lib'))];
}

/** @param {any} [cause] */
export function noRabbitmq(cause) {
  return new SetupError('NO_RABBITMQ', 'RabbitMQ is neither installed nor to be had from apt', {
    remedy: rabbitmqRemedy,
    logTail: cause?.logTail,
    cause,
  });
}

/** Debian's erl knows its place by heart. @param {string} unpacked @param {string} target */
function relocateErlang(unpacked, target) {
  const path = join(unpacked, 'usr/lib/erlang/bin/erl');
  const script = readFileSync(path, 'utf8');
  writeFileSync(path, script.replace(/^(\s*)ROOTDIR="?\/usr\/lib\/erlang"?$/m, `$1ROOTDIR=${target}/usr/lib/erlang`));
}

/**
 * @param {{ target: string, shared: boolean, signal?: AbortSignal, note?: (text: string) => void }} options
 */
export async function downloadRabbitmq({ target, shared, signal, note }) {
  const work = `${target}.download`;
  rmSync(work, { recursive: true, force: true });
  rmSync(target, { recursive: true, force: true });
  try {
    const packages = await fetchPackages({ work, signal, note });
    note?.(`unpacking ${packages.length} packages`);
    await unpack({ packages, work, target, shared, signal });
  } catch (error) {
    if (signal?.aborted || error.code === 'SETUP/NO_RABBITMQ') throw error;
    throw noRabbitmq(error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @returns {Promise<string[]>} paths of .deb files */
async function fetchPackages({ work, signal, note }) {
  const env = privateApt(work);
  const folder = join(work, 'packages');
  const logFile = join(stackFolder('log'), 'rabbitmq-download.log');
  const apt = (/** @type {string[]} */ args) => run('apt-get', args, { cwd: folder, env, limitMs, signal, logFile });
  note?.('reading the lists of packages');
  await apt(['update']);
  const names = await resolvePackages(apt);
  note?.(`downloading ${names.length} packages`);
  await apt(['download', ...names]);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.deb'))
    .map((name) => join(folder, name));
}

async function unpack({ packages, work, target, shared, signal }) {
  const unpacked = join(work, 'root');
  for (const path of packages) await run('dpkg', ['-x', path, unpacked], { limitMs, signal });
  relocateErlang(unpacked, target);
  // A strict umask would lock out the user that the servers run as.
  if (shared) await run('chmod', ['-R', 'a+rX', unpacked], { limitMs, signal });
  renameSync(unpacked, target);
}

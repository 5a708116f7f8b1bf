import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../../scripts/setup/errors.mjs';
import { withLock } from '../../scripts/setup/lock.mjs';
import { openFolder, stackFolder } from '../../scripts/setup/paths.mjs';
import { run } from '../../scripts/setup/processes.mjs';
import { noteWhileWaiting } from '../../scripts/setup/progress.mjs';
import { newPackages } from '../../scripts/stack/debian-packages.mjs';
import { findRabbitmq, relocateErlang } from '../../scripts/stack/rabbitmq.mjs';

/**
 * @typedef {object} Series
 * @property {string} name   the first two numbers of RabbitMQ's version
 * @property {string} suite  the Debian suite whose packages are of this series
 */

/** @type {[Series, Series, Series]} */
export const allSeries = [
  { name: '3.10', suite: 'bookworm' },
  { name: '4.0', suite: 'trixie' },
  { name: '4.3', suite: 'forky' },
];

/** The series that a cluster is made of: the oldest, with Mnesia, and the newest, with Khepri. */
export const clusterSeries = [allSeries[0], allSeries[2]];

/** What `--only` may name: a series, or the cluster. */
export const cluster = 'cluster';
export const allParts = [...allSeries.map(({ name }) => name), cluster];

/**
 * @param {string} version  e.g. 4.0.5
 * @param {Series} series
 */
export const isOfSeries = (version, { name }) => version === name || version.startsWith(`${name}.`);

const unpackLimitMs = 60_000;

/** @typedef {import('../../scripts/stack/rabbitmq.mjs').RabbitmqInstallation} RabbitmqInstallation */

/**
 * A RabbitMQ of the series: the one that the tests use already if it is of it, else the packages of the series'
 * suite, unpacked below `home` and kept there.
 *
 * @param {Series} series
 * @param {import('../../scripts/setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 *   `shared`: another user runs the servers and must be able to read the files
 * @returns {Promise<RabbitmqInstallation>}
 */
export async function obtainSeries(series, { home, shared, signal, note }) {
  const target = join(openFolder(join(home, 'brokers')), series.name);
  const find = () => {
    const candidates = [findRabbitmq('/'), findRabbitmq(join(home, 'rabbitmq')), unpackedIn(target)];
    return candidates.find((found) => found && isOfSeries(found.version, series));
  };
  const found = find();
  if (found) return found;
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock(`rabbitmq-${series.name}`, { limitMs: 6 * 60_000, signal, whileWaiting }, async () => {
    if (!find()) await download(series, { target, shared, signal, note });
    const made = find();
    if (made) return made;
    throw new SetupError(
      'WRONG_SERIES',
      `${series.suite} has RabbitMQ ${unpackedIn(target)?.version} now, not ${series.name}`,
      {
        remedy: 'give the series another suite in test/brokers/series.mjs',
      },
    );
  });
}

/** What brings its own C library must not meet the machine's by LD_LIBRARY_PATH. @param {string} target */
function unpackedIn(target) {
  const found = findRabbitmq(target);
  return found && { ...found, libraryFolders: [] };
}

/**
 * @param {Series} series
 * @param {import('../../scripts/setup/progress.mjs').StepOptions & { target: string, shared: boolean }} options
 */
async function download({ name, suite }, { target, shared, signal, note }) {
  const work = `${target}.download`;
  const logFile = join(stackFolder('log'), `rabbitmq-${name}-download.log`);
  for (const path of [work, target]) rmSync(path, { recursive: true, force: true });
  try {
    const packages = await fetchSuitePackages({ suite, work, logFile, signal, note });
    note?.(`unpacking ${packages.length} packages`);
    const unpacked = join(work, 'root');
    for (const path of packages) await run('dpkg', ['-x', path, unpacked], { limitMs: unpackLimitMs, signal });
    relocateErlang(unpacked);
    bindToOwnLibraries(unpacked, target);
    // A strict umask would lock out the user that the servers run as.
    if (shared) await run('chmod', ['-R', 'a+rX', unpacked], { limitMs: unpackLimitMs, signal });
    renameSync(unpacked, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

// The packages of another Debian suite than the machine's own, fetched by apt with a source, lists and cache of
// our own. Nothing is installed, and no root is needed.
const limitMs = 5 * 60_000;
// It carries the keys of the suites to come too; without it apt refuses the lists of a younger suite.
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * What has to be there to run a broker, out of everything that its installation would bring: Erlang, and every
 * shared library with it, the C library included, because a younger Erlang does not run on an older one.
 *
 * @param {string[]} names
 */
export const neededPackages = (names) =>
  names.filter((name) => /^(rabbitmq-server$|erlang-|elixir|lib|zlib1g)/.test(name));

/**
 * The mirror that this machine's apt uses for its own suite has the other suites too.
 *
 * @param {string} targets   of `apt-get indextargets`, a line `uri|release|component` each
 * @param {string} codename  of the machine's own suite
 * @returns {string | undefined}
 */
export function mirrorIn(targets, codename) {
  const rows = targets.split('\n').map((line) => line.split('|'));
  return rows.find(([, release, component]) => release === codename && component === 'main')?.[0];
}

/** Of Debian. @param {AbortSignal | undefined} signal @returns {Promise<string>} */
export async function findMirror(signal) {
  if (process.env.DEBIAN_MIRROR) return process.env.DEBIAN_MIRROR;
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const [codename = '', id = ''] = ['VERSION_CODENAME', 'ID'].map(
    (key) => new RegExp(`^${key}="?([\\w-]+)`, 'm').exec(release)?.[1],
  );
  const format = ['indextargets', '--format', '$(REPO_URI)|$(RELEASE)|$(COMPONENT)', 'Created-By: Packages'];
  const mirror = id === 'debian' && mirrorIn(await run('apt-get', format, { limitMs, signal }), codename);
  if (mirror) return mirror;
  throw new SetupError(
    'NO_MIRROR',
    'the apt of this machine names no Debian mirror, which the broker series come from',
    {
      remedy: 'run this on Debian, or name a mirror in DEBIAN_MIRROR and install debian-archive-keyring',
    },
  );
}

/** @param {string} work @param {string} suite @param {string} mirror @returns {NodeJS.ProcessEnv} */
function aptOfSuite(work, suite, mirror) {
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'log', 'packages']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  const trust = existsSync(keyring) ? `[signed-by=${keyring}] ` : '';
  writeFileSync(join(work, 'sources.list'), `deb ${trust}${mirror} ${suite} main\n`);
  writeFileSync(join(work, 'apt.conf'), configuration(work));
  return { ...process.env, APT_CONFIG: join(work, 'apt.conf'), LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
}

/** The machine's proxies in apt.conf.d are read as usual; everything of this is read after them. */
const configuration = (/** @type {string} */ work) => `
Dir::State "${work}/state";
Dir::State::lists "${work}/state/lists";
// As if nothing were installed: what the machine has is of another suite.
Dir::State::status "/dev/null";
Dir::Cache "${work}/cache";
Dir::Log "${work}/log";
Dir::Etc::sourcelist "${work}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
Acquire::Retries "2";
Acquire::Languages "none";
Acquire::http::Timeout "30";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
`;

/**
 * @param {import('../../scripts/setup/progress.mjs').StepOptions & { suite: string, work: string, logFile: string }} options
 * @returns {Promise<string[]>} paths of .deb files
 */
export async function fetchSuitePackages({ suite, work, logFile, signal, note }) {
  const env = aptOfSuite(work, suite, await findMirror(signal));
  const folder = join(work, 'packages');
  const apt = (/** @type {string[]} */ ...args) => run('apt-get', args, { cwd: folder, env, limitMs, signal, logFile });
  note?.(`reading the lists of ${suite}`);
  await apt('update');
  const all = newPackages(await apt('--simulate', 'install', '--no-install-recommends', 'rabbitmq-server'));
  const names = neededPackages(all);
  note?.(`downloading ${names.length} packages of ${suite}`);
  await apt('download', ...names);
  const files = readdirSync(folder).filter((name) => name.endsWith('.deb'));
  return files.map((name) => join(folder, name));
}

// Programs of a younger Debian on an older one, without a chroot and so without root: each is started by the
// dynamic loader that came with it, which finds the C library that came with it.
const namesIn = (/** @type {string} */ folder) => (existsSync(folder) ? readdirSync(folder) : []);

/** @param {string} unpacked @returns {string} path of the loader, relative to the folder */
function findLoader(unpacked) {
  const folders = ['usr/lib64', 'lib64', 'usr/lib', 'lib'];
  for (const folder of folders) {
    const name = namesIn(join(unpacked, folder)).find((entry) => /^ld-linux-.+\.so\.\d$/.test(entry));
    if (name) return join(folder, name);
  }
  throw new SetupError('NO_LOADER', `${unpacked} holds no dynamic loader: the packages of this suite lie elsewhere`);
}

/** @param {string} unpacked @returns {string[]} relative to the folder */
const libraryFolders = (unpacked) =>
  ['usr/lib', 'lib'].flatMap((parent) =>
    namesIn(join(unpacked, parent))
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(parent, name)),
  );

/** @param {string} path whether it is a program of the machine, and neither a script nor a shared library */
function isProgram(path) {
  const stat = lstatSync(path);
  if (!stat.isFile() || (stat.mode & 0o100) === 0 || /\.so(\.|$)/.test(path)) return false;
  const start = Buffer.alloc(4);
  const file = openSync(path, 'r');
  readSync(file, start, 0, 4, 0);
  closeSync(file);
  return start.toString('latin1') === '\x7fELF';
}

/**
 * Puts a script in the place of each program of Erlang.
 *
 * @param {string} unpacked  where the packages lie now
 * @param {string} target    where they will lie when they are used
 */
export function bindToOwnLibraries(unpacked, target) {
  const loader = join(target, findLoader(unpacked));
  const libraries = libraryFolders(unpacked).map((folder) => join(target, folder));
  const erlang = join('usr', 'lib', 'erlang');
  const entries = readdirSync(join(unpacked, erlang), { recursive: true, encoding: 'utf8' });
  for (const path of entries.map((entry) => join(erlang, entry)).filter((entry) => isProgram(join(unpacked, entry)))) {
    const real = `${path}.elf`;
    renameSync(join(unpacked, path), join(unpacked, real));
    // Under its own name: escript and erlc look for Erlang beside the path they were called by.
    const call = `exec ${loader} --library-path ${libraries.join(':')} --argv0 "$0" ${join(target, real)} "$@"`;
    writeFileSync(join(unpacked, path), `#!/bin/sh\n${call}\n`);
    chmodSync(join(unpacked, path), 0o755);
  }
}

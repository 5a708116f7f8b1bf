// The packages of another Debian suite than the machine's own, fetched by apt with a source, lists and cache of
// our own. Nothing is installed, and no root is needed.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { newPackages } from '../stack/debian-packages.mjs';

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
 * @param {import('../setup/progress.mjs').StepOptions & { suite: string, work: string, logFile: string }} options
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

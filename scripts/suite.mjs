// npm run suite -- NAME [ARGUMENTS]: one of the suites that npm test leaves out, from a bare clone. Without a name: what there is.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilds, ensureDependencies, ensurePackagesOf, pageBuild, runTypescript } from './setup/build.mjs';
import { run, runInForeground } from './setup/processes.mjs';
import { main } from './setup/main.mjs';
import { repository, stackFolder } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';
import { SetupError } from './setup/errors.mjs';
import { prepareRun } from './stack/servers.mjs';
import { ensureChromium, ensureDebianPackages } from './stack/debian-packages.mjs';
import { obtainPrometheus } from './stack/other-servers.mjs';
import { serverHome } from './stack/place.mjs';

/** @typedef {{ args: string[], signal: AbortSignal }} Context */
/** @typedef {Record<string, string>} Environment  beside our own */
/** @typedef {(signal: AbortSignal) => Promise<Environment | void>} Prepare */
/**
 * @typedef {object} Suite
 * @property {string} about    in one line
 * @property {string} takes    time on 2 cores
 * @property {string} options  its arguments
 * @property {string[] | undefined} [nightly]  arguments of the nightly run, which leaves out a suite without any
 * @property {(context: Context) => Promise<number | void>} run  with the dependencies installed
 */

const jestOptions = 'arguments of Jest';

/** Specs with a Jest configuration of their own, on the servers of npm test. @param {string} folder @param {Prepare} [prepare] */
const specs =
  (folder, prepare) =>
  async (/** @type {Context} */ { args, signal }) => {
    const env = { ...process.env, ...(await prepare?.(signal)) };
    const jest = ['scripts/test.mjs', '--config', `test/${folder}/jest.config.js`, ...args];
    return runInForeground(process.execPath, jest, { cwd: repository, env, signal });
  };

/** A program of the sources. @param {string} file @param {Prepare} [prepare] */
const program =
  (file, prepare) =>
  async (/** @type {Context} */ { args, signal }) => {
    const env = args.includes('--help') ? {} : await prepare?.(signal);
    return runTypescript(file, args, { env: env ?? {}, signal });
  };

/** @type {Prepare} */
const builds = (signal) => ensureBuilds({ signal });
/** @type {Prepare} */
const builtOnServers = async (signal) => prepareRun(['rabbitmq-plain', 'postgres'], { signal });
/** @type {Prepare} */
const onServers = async (signal) => prepareRun(['rabbitmq-plain', 'postgres'], { signal, builds: [] });

/** What the program starts is the build. @type {Prepare} */
const scenarioServers = async (signal) => ({ ...(await builtOnServers(signal)), SCENARIOS_BUILT: 'yes' });

/** @param {AbortSignal} signal */
async function chromium(signal) {
  return { CHROMIUM: await showProgress('Chromium', (note) => ensureChromium({ signal, note })) };
}

/** @param {AbortSignal} signal */
async function encoder(signal) {
  const missing = { code: 'NO_IMG2WEBP', otherwise: 'run the command on a machine with Debian' };
  await showProgress('img2webp', (note) => ensureDebianPackages(['webp'], { signal, note, ...missing }));
}

/** @type {Prepare} */
async function prometheus(signal) {
  const { home, user } = serverHome();
  const options = { home, shared: Boolean(user), signal };
  const { promtool } = await showProgress('Prometheus', (note) => obtainPrometheus({ ...options, note }));
  return { OT_PROMTOOL: promtool };
}

/** @type {Prepare} */
async function peers(signal) {
  const { obtainPeers } = await import('../bench/obtain-peers.mjs');
  return showProgress('Redis, BullMQ, pg-boss, and graphile-worker', (note) => obtainPeers({ signal, note }));
}

const toolsOfClients = /** @type {const} */ ([
  ['java', '-version', 'install a Java runtime (apt-get install default-jre-headless)'],
  ['python3', '--version', 'install Python 3 (apt-get install python3)'],
  ['curl', '--version', 'install curl (apt-get install curl)'],
]);

/** @type {Prepare} */
async function generators(signal) {
  for (const [tool, argument, remedy] of toolsOfClients)
    if (spawnSync(tool, [argument]).status !== 0) throw new SetupError('NO_PROGRAM', `${tool} is missing`, { remedy });
  const { obtainGenerators, obtainPythonPackages } = await import('../test/hosts/clients/obtain-generators.mjs');
  return {
    OT_GENERATORS: await showProgress('generators of clients', (note) => obtainGenerators({ signal, note })),
    OT_PYTHON_PACKAGES: await showProgress('Python packages', (note) => obtainPythonPackages({ signal, note })),
  };
}

/** Its packages, its client, and the types of the specs. @type {Prepare} */
async function prisma(signal) {
  const folder = join(repository, 'test', 'hosts', 'prisma');
  // Without their scripts: Prisma's would download engines, that are not used.
  await ensurePackagesOf('test/hosts/prisma', 'Prisma', signal);
  // The engine is for migrations. Named, it is not downloaded, and generating never starts it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  const step = (/** @type {string} */ what, /** @type {string[]} */ ...args) =>
    showProgress(what, () => run(process.execPath, args, { cwd: folder, env, limitMs: 10 * 60_000, signal, what }));
  await step('prisma generate', 'node_modules/prisma/build/index.js', 'generate');
  await step('types', join(repository, 'node_modules/typescript/bin/tsc'), '-p', '.');
}

/** @param {Context} context */
async function mutate({ args, signal }) {
  await ensurePackagesOf('test/unit/mutation', 'Stryker', signal);
  stackFolder();
  const stryker = 'test/unit/mutation/node_modules/@stryker-mutator/core/bin/stryker.js';
  const options = { cwd: repository, owns: /** @type {const} */ ('process'), signal };
  return runInForeground(process.execPath, [stryker, 'run', 'test/unit/mutation/stryker.config.mjs', ...args], options);
}

/** The build is the service under load. @type {Prepare} */
async function contestants(signal) {
  await ensureBuilds({ signal });
  return peers(signal);
}

/** @type {Record<string, Suite>} */
const suites = {
  model: {
    about: 'random interleavings over the real decisions; weaker variants must fail; the time is for --runs 200000',
    takes: '3 min',
    options: '--runs N  --weaker-runs N  --seed N  --variant NAME  --workers N',
    nightly: ['--runs', '1000000'],
    run: program('test/model/main.ts'),
  },
  simulation: {
    about: 'worlds of the whole service in virtual time, on PostgreSQL, with a simulated broker and bank',
    takes: '5 min',
    options: '--worlds N  --seed N  --seconds N  --workers N  --trace people|all  --weakness all|NAMES',
    nightly: ['--worlds', '1000000', '--seconds', '3600'],
    run: program('test/simulation/main.ts'),
  },
  mutation: {
    about: 'changes of the decisions that no unit test notices',
    takes: '1 h',
    options: 'arguments of Stryker, such as --mutate FILE',
    nightly: [],
    run: mutate,
  },
  scenarios: {
    about: 'payment scenarios against simulated Alipay, WeChat Pay, and Stripe',
    takes: '2 min',
    options: '--orders N  --seed N  --provider NAMES  --only NAMES  --per-second N',
    nightly: [],
    run: program('test/scenarios/main.ts', scenarioServers),
  },
  outages: {
    about: 'outages of broker and database, killed services, lost wake-ups, what the doctor says',
    takes: '18 min',
    options: jestOptions,
    nightly: [],
    run: specs('faults', builds),
  },
  faults: {
    about: '300 faults during 20,000 orders; every order is checked',
    takes: '14 min',
    options: '--help lists them',
    nightly: [],
    // What the program starts is a patched copy of the build.
    run: program('test/faults/campaign/main.ts', builds),
  },
  brokers: {
    about: 'RabbitMQ 3.10, 4.0, and 4.3, and a cluster that loses nodes; needs the apt of Debian',
    takes: '15 min',
    options: '--only 3.10|4.0|4.3|cluster',
    nightly: [],
    run: async (context) => (await import('../test/brokers/run-brokers.mjs')).runBrokers(context),
  },
  security: {
    about: '11,000 hostile inputs, permissions, secrets in logs, starts and stops',
    takes: '5 min',
    options: jestOptions,
    nightly: [],
    run: specs('security'),
  },
  scale: {
    about: 'the operator page with a million pending orders: times, plans, and its cost when nobody looks',
    takes: '2 min',
    options: jestOptions,
    nightly: [],
    run: specs('load'),
  },
  soak: {
    about: 'memory of one service under steady load',
    takes: '5 min',
    options: '--minutes N  --rate N',
    nightly: ['--minutes', '15'],
    run: program('test/load/soak.ts', onServers),
  },
  operator: {
    about: 'the operator page in Chromium, which it installs: accessibility, keyboard, pictures, every action',
    takes: '4 min',
    options: jestOptions,
    nightly: [],
    run: specs('operator', async (signal) => {
      await ensureBuilds({ signal, builds: [pageBuild] });
      return chromium(signal);
    }),
  },
  observability: {
    about: 'alert rules and dashboards by promtool and a Prometheus; needs them, or the apt of Debian',
    takes: '2 min',
    options: jestOptions,
    nightly: [],
    run: specs('observability', prometheus),
  },
  compose: {
    about: 'docker-compose.yml and every command of docs/docker.md; needs Docker, or Debian and root',
    takes: '10 min',
    options: jestOptions,
    nightly: [],
    run: async (context) => (await import('../test/compose/run-compose.mjs')).runCompose(context),
  },
  hosts: {
    about: 'the packed product in ten generated applications on three Node.js lines',
    takes: '10 min',
    options: '--only NAMES  --node 20|22|24',
    nightly: [],
    run: async (context) => (await import('../test/hosts/run-hosts.mjs')).runHosts(context),
  },
  newcomer: {
    about: 'the paths of README.md, with NestJS 11 and 12, nest start --watch, and the watched demo',
    takes: '4 min',
    options: jestOptions,
    nightly: [],
    run: specs('hosts/newcomer'),
  },
  clients: {
    about: 'clients that generators make of the documents of the API, and the example clients; needs Java and Python',
    takes: '3 min',
    options: jestOptions,
    nightly: [],
    run: specs('hosts/clients', generators),
  },
  moving: {
    about: 'the imports of docs/moving from Redis, BullMQ, pg-boss, and others; needs Redis, or the apt of Debian',
    takes: '30 s',
    options: jestOptions,
    nightly: [],
    run: specs('hosts/moving', peers),
  },
  prisma: {
    about: 'transactions of Prisma, which takes 300 MB in test/hosts/prisma',
    takes: '1 min',
    options: jestOptions,
    nightly: [],
    run: specs('hosts/prisma', prisma),
  },
  bench: {
    about: 'speed, compared with other tools and with bare statements; --short to try it',
    takes: 'over 1 h',
    options: '--help lists them',
    nightly: ['--short', '--rounds', '1'],
    run: program('bench/main.ts', contestants),
  },
  film: {
    about: 'records docs/pictures/operator-page.webp: a tour of the operator page while the demo runs',
    takes: '2 min',
    options: 'none',
    run: program('test/operator/film/main.ts', async (signal) => {
      const browser = await chromium(signal);
      await encoder(signal);
      return browser;
    }),
  },
  'dashboard-picture': {
    about: 'draws docs/pictures/dashboard.png from a recording',
    takes: '2 min',
    options: 'none',
    run: program('test/observability/picture/main.ts', async (signal) => ({
      ...(await chromium(signal)),
      ...(await builtOnServers(signal)),
    })),
  },
};

/** @returns {string} the list, a suite a line */
function list() {
  const rows = Object.entries(suites).map(([name, { about, takes }]) => [name, takes, about]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return ['npm run suite -- NAME [ARGUMENTS]', '', ...lines, ''].join('\n');
}

/** What runs every night, for the matrix of .github/workflows/nightly.yml. */
const nightly = () =>
  Object.entries(suites).flatMap(([suite, { nightly: args }]) => (args ? [{ suite, args: args.join(' ') }] : []));

await main(async ({ args: [name, ...args], signal }) => {
  if (name === undefined || name === '--help') return void process.stdout.write(list());
  if (name === '--nightly') return void process.stdout.write(`${JSON.stringify(nightly())}\n`);
  const suite = suites[name];
  if (!suite)
    throw new SetupError('USAGE', `there is no suite ${name}`, { remedy: `one of ${Object.keys(suites).join(', ')}` });
  const { about, takes, options, run } = suite;
  if (args.includes('--help') && !options.startsWith('--help'))
    return void process.stdout.write(`${about} (${takes})\nnpm run suite -- ${name} [OPTIONS]\n  ${options}\n`);
  await ensureDependencies({ signal });
  return run({ args, signal });
});

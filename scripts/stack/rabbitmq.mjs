import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { SetupError } from '../setup/errors.mjs';
import { newPackages, obtainOnce, unpackPackages } from './debian-packages.mjs';
import { makeServerFolder, userName, writeServerFile } from './place.mjs';

/**
 * The installed RabbitMQ, else one unpacked below `home`, downloaded the first time.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 *   `shared`: another user runs the servers and must be able to read the files
 * @returns {Promise<RabbitmqInstallation>}
 */
export function obtainRabbitmq({ home, ...options }) {
  const target = join(home, 'rabbitmq');
  return obtainOnce({
    ...{ ...options, name: 'rabbitmq', limitMs: 6 * 60_000, missing: noRabbitmq },
    find: () => findRabbitmq('/') ?? findUnpacked(target),
    download: () => downloadRabbitmq({ ...options, target }),
  });
}

/** One that was unpacked for another place, before this clone was moved or copied, is set right. @param {string} target */
function findUnpacked(target) {
  const found = findRabbitmq(target);
  if (found) relocateErlang(target);
  return found;
}

/**
 * @typedef {object} RabbitmqInstallation
 * @property {string} rabbitHome  holds sbin/ and plugins/
 * @property {string} erlangBin   holds erl and erlc
 * @property {string} version
 * @property {string[]} pluginFolders
 * @property {string[]} libraryFolders  where shared libraries came along with it
 */

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const namesIn = (/** @type {string} */ folder) => (existsSync(folder) ? readdirSync(folder) : []);
const newestFirst = (/** @type {string} */ a, /** @type {string} */ b) => b.localeCompare(a, 'en', { numeric: true });

/** @param {string} root @returns {string | undefined} */
function findRabbitHome(root) {
  const library = join(root, 'usr/lib/rabbitmq/lib');
  const homes = namesIn(library).filter((name) => name.startsWith('rabbitmq_server-'));
  const paths = homes.sort(newestFirst).map((name) => join(library, name));
  return paths.find((path) => isExecutable(join(path, 'sbin/rabbitmq-server')));
}

/**
 * Where Erlang is looked for, in order. A given RabbitMQ finds its Erlang in PATH; the
 * system's may be of a series that the given one does not start on.
 * @param {string} root @param {{ isGiven: boolean, path?: string | undefined }} options @returns {string[]}
 */
export function erlangFolders(root, { isGiven, path = '' }) {
  const ofSystem = join(root, 'usr/lib/erlang/bin');
  const inPath = root === '/' ? path.split(delimiter).filter((folder) => folder !== '') : [];
  return isGiven ? [...inPath, ofSystem] : [ofSystem, ...inPath];
}

/** @param {string} root */
export function findLibraryFolders(root) {
  if (root === '/') return [];
  const parents = [join(root, 'usr/lib'), join(root, 'lib')];
  return parents.flatMap((parent) =>
    namesIn(parent)
      .filter((n) => n.includes('-linux-'))
      .map((n) => join(parent, n)),
  );
}

/** RABBITMQ_PLUGINS_DIR is RabbitMQ's own name for "further plugins are here". @param {string} root @param {string} rabbitHome */
function pluginFoldersOf(root, rabbitHome) {
  const folders = [
    join(rabbitHome, 'plugins'),
    join(root, 'usr/lib/rabbitmq/plugins'),
    ...(process.env.RABBITMQ_PLUGINS_DIR ?? '').split(delimiter),
  ];
  return [...new Set(folders)].filter((folder) => folder && existsSync(folder));
}

/**
 * @param {string} root  '/' for what is installed, a folder for what was unpacked there
 * @returns {RabbitmqInstallation | undefined}
 */
export function findRabbitmq(root) {
  const given = root === '/' ? process.env.RABBITMQ_HOME : undefined;
  const isGiven = given !== undefined && isExecutable(join(given, 'sbin/rabbitmq-server'));
  const rabbitHome = isGiven ? given : findRabbitHome(root);
  const folders = erlangFolders(root, { isGiven, path: process.env.PATH });
  const erlangBin = folders.find((folder) => isExecutable(join(folder, 'erl')));
  if (!rabbitHome || !erlangBin) return undefined;
  return {
    rabbitHome,
    erlangBin,
    version: /rabbitmq_server-([\w.~+-]+)$/.exec(rabbitHome)?.[1] ?? 'unknown',
    pluginFolders: pluginFoldersOf(root, rabbitHome),
    libraryFolders: findLibraryFolders(root),
  };
}

/** @param {Pick<RabbitmqInstallation, 'erlangBin'>} installation @param {string} name */
export const binaryNextTo = ({ erlangBin }, name) => {
  const erts = namesIn(dirname(erlangBin)).filter((entry) => entry.startsWith('erts-'));
  const folders = [erlangBin, ...erts.map((entry) => join(dirname(erlangBin), entry, 'bin'))];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
};

/** What is said when it cannot be had. */
export const noRabbitmq = {
  code: 'NO_RABBITMQ',
  message: 'RabbitMQ is neither installed nor to be had from apt',
  remedy:
    'start a Docker engine, or install RabbitMQ (apt-get install rabbitmq-server), or set RABBITMQ_URLS to a running one',
};

/** @param {string[]} names */
export const brokerPackages = (names) => names.filter((name) => /^(rabbitmq-server$|erlang-)/.test(name));

/** @param {(args: string[]) => Promise<string>} apt */
async function resolvePackages(apt) {
  const install = ['--simulate', 'install', '--no-install-recommends'];
  // As if nothing were installed: half an Erlang on the machine is of no use to a relocated one.
  const all = await apt([...install, '-o', 'Dir::State::status=/dev/null', 'rabbitmq-server']);
  const wanted = brokerPackages(newPackages(all));
  if (!wanted.includes('rabbitmq-server')) throw new SetupError(noRabbitmq.code, noRabbitmq.message, noRabbitmq);
  const erlang = wanted.filter((name) => name !== 'rabbitmq-server');
  const missing = newPackages(await apt([...install, ...erlang]));
  return [...wanted, ...missing.filter((name) => name.startsWith('lib'))];
}

/**
 * @param {import('../setup/progress.mjs').StepOptions & { target: string, shared: boolean }} options
 */
export function downloadRabbitmq(options) {
  return unpackPackages({ ...options, log: 'rabbitmq-download', resolve: resolvePackages, relocate: relocateErlang });
}

/** @typedef {'plain' | 'plugin'} Profile */

/**
 * @typedef {{ url: string, managementUrl: string, version: string, directory: string,
 *   delayedExchange?: import('./delayed-exchange.mjs').DelayedExchange['kind'] }} RabbitmqAccess
 */
/** @typedef {ReturnType<typeof portsOf>} Ports */

/** Which port of the block is for what. */
const portsOf = (/** @type {number} */ base) => ({
  amqp: base,
  management: base + 1,
  prometheus: base + 2,
  distribution: base + 3,
  epmd: base + 4,
  tools: base + 5,
});

const listener = (/** @type {number} */ port) => `{tcp_config,[{ip,"127.0.0.1"},{port,${port}}]}`;

/**
 * In Erlang's own terms, all of it: reading a rabbitmq.conf costs 1 to 2 seconds of every start.
 *
 * @param {string} directory
 * @param {Ports} ports
 * @param {number} [maxMessageSize]  bytes; the broker's own limit without it
 */
export function configuration(directory, ports, maxMessageSize) {
  const rabbit = [
    `{tcp_listeners,[{"127.0.0.1",${ports.amqp}}]}`,
    `{load_definitions,"${directory}/etc/definitions.json"}`,
    '{loopback_users,[]}',
    '{vm_memory_high_watermark,{absolute,1073741824}}',
    '{disk_free_limit,209715200}',
    // After a killed broker, at-least-once dead-lettering of quorum queues stalls for this time (3 min by default).
    '{dead_letter_worker_publisher_confirm_timeout,5000}',
    ...(maxMessageSize === undefined ? [] : [`{max_message_size,${maxMessageSize}}`]),
  ];
  const applications = [
    `{rabbit,[${rabbit.join(',')}]}`,
    `{rabbitmq_management,[${listener(ports.management)}]}`,
    `{rabbitmq_prometheus,[${listener(ports.prometheus)}]}`,
  ];
  return `[${applications.join(',\n')}].\n`;
}

/** @param {string} password */
function definitions(password) {
  const everything = { configure: '.*', write: '.*', read: '.*' };
  return JSON.stringify({
    users: [{ name: userName, password, tags: ['administrator'] }],
    vhosts: [{ name: '/' }],
    permissions: [{ user: userName, vhost: '/', ...everything }],
  });
}

/**
 * @param {{ directory: string, ports: Ports, installation: RabbitmqInstallation, nodeName: string,
 *   pluginFolders: string[] }} options
 */
function environment({ directory, ports, installation, nodeName, pluginFolders }) {
  return {
    PATH: `${installation.erlangBin}:/usr/local/bin:/usr/bin:/bin`,
    HOME: join(directory, 'home'),
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
    ...(installation.libraryFolders.length > 0 && { LD_LIBRARY_PATH: installation.libraryFolders.join(':') }),
    // "localhost": a host name that does not resolve, or changes, is of no concern then.
    RABBITMQ_NODENAME: `${nodeName}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(ports.amqp),
    RABBITMQ_DIST_PORT: String(ports.distribution),
    RABBITMQ_CTL_DIST_PORT_MIN: String(ports.tools),
    RABBITMQ_CTL_DIST_PORT_MAX: String(ports.tools + 1),
    ERL_EPMD_PORT: String(ports.epmd),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    RABBITMQ_MNESIA_BASE: join(directory, 'mnesia'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_LOGS: '-',
    // Neither is there; they are named so that nothing below /etc is read.
    RABBITMQ_CONFIG_FILE: join(directory, 'etc/rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(directory, 'etc/conf.d'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(directory, 'etc/advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'etc/enabled_plugins'),
    RABBITMQ_FEATURE_FLAGS_FILE: join(directory, 'feature_flags'),
    RABBITMQ_PLUGINS_DIR: pluginFolders.join(':'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_PID_FILE: join(directory, 'rabbit.pid'),
    // Makes the start script become the server instead of waiting beside it, so that its pid is the server's.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}

/**
 * @param {{ directory: string, ports: Ports, password: string, plugins: string[],
 *   user: import('./place.mjs').ServerUser | undefined, maxMessageSize: number | undefined }} options
 */
function writeConfiguration({ directory, ports, password, plugins, user, maxMessageSize }) {
  for (const folder of ['', 'home', 'log', 'mnesia', 'etc']) makeServerFolder(join(directory, folder), user);
  const write = (/** @type {string} */ name, /** @type {string} */ text) =>
    writeServerFile(join(directory, 'etc', name), text, user);
  write('advanced.config', configuration(directory, ports, maxMessageSize));
  write('enabled_plugins', `[${plugins.join(',')}].\n`);
  write('definitions.json', definitions(password));
}

// epmd is started here, in the server's process group, because one that Erlang starts becomes a daemon and stays.
const startScript = '[ -z "$1" ] || "$1" & exec "$2"';

/**
 * Writes the configuration of a private broker and tells how to run it.
 *
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.directory   for data and configuration
 * @param {number} options.basePort
 * @param {string} options.password
 * @param {RabbitmqInstallation} options.installation
 * @param {import('./delayed-exchange.mjs').DelayedExchange | undefined} [options.delayedExchange]
 * @param {import('./place.mjs').ServerUser | undefined} [options.user]
 * @param {string} options.logFile
 * @param {boolean | undefined} [options.prometheus]
 * @param {number | undefined} [options.maxMessageSize]  bytes
 * @param {{ amqp?: number, management?: number, prometheus?: number }} [options.ports]  instead of those of the block
 * @returns {import('./supervisor.mjs').ServerSpec<RabbitmqAccess>}
 */
export function rabbitmqServer(options) {
  const { name, directory, basePort, password, installation, delayedExchange, user, logFile, prometheus } = options;
  const ports = { ...portsOf(basePort), ...options.ports };
  const plugins = ['rabbitmq_management', ...(prometheus ? ['rabbitmq_prometheus'] : [])];
  if (delayedExchange) plugins.push(delayedExchange.pluginName);
  writeConfiguration({ directory, ports, password, plugins, user, maxMessageSize: options.maxMessageSize });
  const pluginFolders = [...(delayedExchange?.folders ?? []), ...installation.pluginFolders];
  const credentials = `${userName}:${password}`;
  return {
    name,
    command: 'sh',
    args: ['-c', startScript, 'sh', epmdOf(installation), join(installation.rabbitHome, 'sbin/rabbitmq-server')],
    cwd: directory,
    env: environment({ directory, ports, installation, nodeName: name, pluginFolders }),
    user,
    ports: [ports.amqp, ports.management],
    stopSignal: 'SIGTERM',
    stopLimitMs: 15_000,
    startLimitMs: 90_000,
    logFile,
    access: {
      url: `amqp://${credentials}@127.0.0.1:${ports.amqp}`,
      managementUrl: `http://${credentials}@127.0.0.1:${ports.management}`,
      version: installation.version,
      directory,
      ...(delayedExchange && { delayedExchange: delayedExchange.kind }),
    },
  };
}

const epmdOf = (/** @type {RabbitmqInstallation} */ installation) => binaryNextTo(installation, 'epmd') ?? '';

/**
 * Debian's scripts of Erlang know one place, /usr/lib/erlang, and there are several of them, with several mentions each.
 * Unpacked elsewhere, they find Erlang from where they lie themselves: a folder that is moved or copied keeps working.
 *
 * @param {string} root  where the packages were unpacked; may have been relocated before, in any way
 */
export function relocateErlang(root) {
  const erlang = join(root, 'usr/lib/erlang');
  for (const path of scriptsOf(erlang)) {
    const text = readFileSync(path, 'latin1');
    const relocated = relocateScript(text, relative(join(path, '..'), erlang));
    if (relocated !== text) writeFileSync(path, relocated, 'latin1');
  }
}

/** @param {string} erlang @returns {string[]} */
function scriptsOf(erlang) {
  if (!existsSync(erlang)) return [];
  const versions = readdirSync(erlang).filter((name) => name.startsWith('erts-'));
  const folders = ['bin', ...versions.map((name) => join(name, 'bin'))].map((name) => join(erlang, name));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true }).filter((file) => file.isFile()),
  );
  return files.map((file) => join(file.parentPath, file.name)).filter(isScript);
}

/** @param {string} path */
const isScript = (path) => readFileSync(path).subarray(0, 2).toString() === '#!';

/**
 * @param {string} text     of a shell script
 * @param {string} upwards  from its folder to that of Erlang
 */
export function relocateScript(text, upwards) {
  const here = `$(cd "$(dirname "$(readlink -f "$0")")/${upwards}" && pwd)`;
  // A replacement text would take "$(" for a group.
  return text.replaceAll(/(["=\s])(?:\/[\w./+-]*)?\/usr\/lib\/erlang\b/g, (_, before) => `${before}${here}`);
}

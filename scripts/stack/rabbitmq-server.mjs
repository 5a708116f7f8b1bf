import { join } from 'node:path';
import { binaryNextTo } from './rabbitmq-installation.mjs';
import { userName } from './secrets.mjs';
import { makeServerFolder, writeServerFile } from './server-user.mjs';

/** @typedef {'plain' | 'plugin'} Profile */

/**
 * @typedef {{ url: string, managementUrl: string, version: string, directory: string,
 *   delayedExchange?: import('./delayed-exchange.mjs').DelayedExchange['kind'] }} RabbitmqAccess
 */
/** @typedef {import('./rabbitmq-installation.mjs').RabbitmqInstallation} RabbitmqInstallation */
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
 *   user: import('./server-user.mjs').ServerUser | undefined, maxMessageSize: number | undefined }} options
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
 * @param {import('./server-user.mjs').ServerUser | undefined} [options.user]
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

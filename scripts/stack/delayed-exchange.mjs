import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOf, messageOf, SetupError } from '../setup/errors.mjs';

const genuine = 'rabbitmq_delayed_message_exchange';

/**
 * @typedef {{ kind: 'genuine' | 'stand-in', pluginName: string, folders: string[] }} DelayedExchange
 */

/** @param {string[]} folders @returns {boolean} */
export function hasGenuinePlugin(folders) {
  return folders.some((folder) => readdirSync(folder).some((name) => name.startsWith(`${genuine}-`)));
}

/**
 * What gives a broker the `x-delayed-message` type: the real plugin where one is found, else our stand-in,
 * which keeps messages in memory and is good for tests and the demo only.
 *
 * @param {import('./rabbitmq.mjs').RabbitmqInstallation} installation
 * @param {{ outDirectory: string }} options
 * @returns {Promise<DelayedExchange>}
 */
export async function obtainDelayedExchange(installation, { outDirectory }) {
  if (hasGenuinePlugin(installation.pluginFolders)) return { kind: 'genuine', pluginName: genuine, folders: [] };
  const { erlangBin, rabbitHome } = installation;
  try {
    const { pluginsDirectory, pluginName } = await buildStandIn({ erlangBin, rabbitHome, outDirectory });
    return { kind: 'stand-in', pluginName, folders: [pluginsDirectory] };
  } catch (cause) {
    throw new SetupError('NO_DELAYED_EXCHANGE', `the stand-in of ${genuine} could not be built: ${messageOf(cause)}`, {
      remedy: `put the genuine plugin into ${join(rabbitHome, 'plugins')}, or use a broker without it`,
      cause,
    });
  }
}

// Compiles test/support/delayed-exchange-stand-in (Erlang) into a plugin folder for RabbitMQ.
// For tests and the demo, where the genuine rabbitmq_delayed_message_exchange is not at hand.
const pluginName = 'rabbitmq_delayed_exchange_stand_in';
const thisFile = fileURLToPath(import.meta.url);
const sourceDirectory = fileURLToPath(new URL('../../test/support/delayed-exchange-stand-in/src', import.meta.url));

/**
 * Builds the plugin unless what lies there is newer than its source and made for the same broker.
 * The broker finds it when RABBITMQ_PLUGINS_DIR is `${rabbitHome}/plugins:${pluginsDirectory}`
 * and `pluginName` stands in the enabled_plugins file.
 *
 * @param {object} options
 * @param {string} options.erlangBin     folder of erlc and erl, e.g. /usr/lib/erlang/bin; must be the
 *                                       Erlang that runs the broker (older code loads, newer may not)
 * @param {string} options.rabbitHome    folder that holds sbin/ and plugins/, e.g. …/rabbitmq_server-3.10.8
 * @param {string} options.outDirectory  where `<plugin>-<version>/ebin` is put; created when missing
 * @returns {Promise<{ pluginsDirectory: string, pluginName: string }>}
 */
export async function buildStandIn({ erlangBin, rabbitHome, outDirectory }) {
  const pluginsDirectory = resolve(outDirectory);
  const sources = (await readdir(sourceDirectory)).sort().map((name) => join(sourceDirectory, name));
  const target = join(pluginsDirectory, `${pluginName}-${await readVersion()}`);
  const brokerModules = await findBrokerModules(rabbitHome);
  const builtFor = `${erlangBin}\n${brokerModules}\n`;

  if (!(await isUpToDate(target, [thisFile, ...sources], builtFor))) {
    // Built aside and moved, so that neither an interrupted nor a simultaneous build leaves half
    // a plugin. Aside means outside of pluginsDirectory: the broker scans every folder in there.
    const building = `${pluginsDirectory}.building-${randomUUID()}`;
    try {
      await mkdir(join(building, 'ebin'), { recursive: true });
      compile({ erlangBin, rabbitHome, brokerModules, sources, into: join(building, 'ebin') });
      await copyFile(join(sourceDirectory, `${pluginName}.app.src`), join(building, 'ebin', `${pluginName}.app`));
      await writeFile(join(building, 'built-for'), builtFor);
      await mkdir(pluginsDirectory, { recursive: true });
      await moveInPlace(building, target, builtFor);
    } finally {
      await rm(building, { recursive: true, force: true });
    }
  }
  return { pluginsDirectory, pluginName };
}

async function readVersion() {
  const app = await readFile(join(sourceDirectory, `${pluginName}.app.src`), 'utf8');
  const version = /\{vsn, "([^"]+)"\}/.exec(app)?.[1];
  if (version === undefined) throw new Error(`no {vsn, "…"} in ${pluginName}.app.src`);
  return version;
}

/** Folder of the broker's own modules. Its name carries the version. @param {string} rabbitHome */
async function findBrokerModules(rabbitHome) {
  const plugins = join(rabbitHome, 'plugins');
  const names = existsSync(plugins) ? await readdir(plugins) : [];
  const rabbit = names.find((name) => /^rabbit-\d/.test(name) && existsSync(join(plugins, name, 'ebin')));
  const common = names.find((name) => /^rabbit_common-\d/.test(name));
  if (rabbit === undefined || common === undefined) {
    throw new Error(
      `"${rabbitHome}" is not a RabbitMQ home: it has no plugins/rabbit-<version>/ebin and plugins/rabbit_common-<version>`,
    );
  }
  if (!existsSync(join(plugins, common, 'include', 'rabbit.hrl'))) {
    throw new Error(
      `RabbitMQ's header files are missing (${join(plugins, common, 'include')}): the stand-in for the delayed exchange cannot be compiled against this installation`,
    );
  }
  return join(plugins, rabbit, 'ebin');
}

/** @param {string} target @param {string[]} inputs @param {string} builtFor */
async function isUpToDate(target, inputs, builtFor) {
  const stamp = join(target, 'built-for');
  if (!existsSync(stamp) || (await readFile(stamp, 'utf8')) !== builtFor) return false;
  const builtAt = (await stat(stamp)).mtimeMs;
  const changedAt = await Promise.all(inputs.map(async (input) => (await stat(input)).mtimeMs));
  return Math.max(...changedAt) < builtAt;
}

/** @param {{ erlangBin: string, rabbitHome: string, brokerModules: string, sources: string[], into: string }} options */
function compile({ erlangBin, rabbitHome, brokerModules, sources, into }) {
  const erlc = join(erlangBin, 'erlc');
  if (!existsSync(erlc)) {
    throw new Error(
      `The Erlang compiler is missing (${erlc}). It is part of Debian's and Ubuntu's package erlang-base: ` +
        'install that, or unpack it with the others under .stack/ (apt-get download erlang-base && dpkg -x). ' +
        'Without it the tests of the delayed exchange need a broker that has rabbitmq_delayed_message_exchange (RABBITMQ_URLS).',
    );
  }
  const hasMessageContainers = existsSync(join(brokerModules, 'mc.beam'));
  const args = [
    '-o',
    into,
    ...(hasMessageContainers ? ['-DMESSAGE_CONTAINERS'] : []),
    ...sources.filter((path) => path.endsWith('.erl')),
  ];
  // ERL_LIBS puts every plugins/*/ebin on the code path, for -behaviour and -include_lib.
  const result = spawnSync(erlc, args, {
    encoding: 'utf8',
    env: { ...process.env, ERL_LIBS: join(rabbitHome, 'plugins') },
  });
  if (result.error !== undefined)
    throw new Error(`${erlc} could not be started: ${result.error.message}`, { cause: result.error });
  if (result.status !== 0) {
    throw new Error(
      `${erlc} ended with ${result.status ?? result.signal} on the delayed-exchange stand-in:\n${result.stdout}${result.stderr}`,
    );
  }
}

/**
 * A folder cannot be renamed over one that is there, so that is renamed away first. Two builds may do so at the same
 * time: the one that finds the place taken again looks whether the other's result serves, and tries once more if not.
 *
 * @param {string} building
 * @param {string} target
 * @param {string} builtFor
 */
async function moveInPlace(building, target, builtFor) {
  const replaced = `${building}-replaced`;
  try {
    for (let attempt = 1; ; attempt += 1) {
      await rename(target, replaced).catch(ignoring('ENOENT', 'ENOTEMPTY', 'EEXIST'));
      try {
        return await rename(building, target);
      } catch (error) {
        const theirs = await readFile(join(target, 'built-for'), 'utf8').catch(ignoring('ENOENT'));
        if (theirs === builtFor) return;
        if (attempt === 5) throw error;
      }
    }
  } finally {
    await rm(replaced, { recursive: true, force: true });
  }
}

const ignoring =
  (/** @type {string[]} */ ...codes) =>
  (/** @type {unknown} */ error) => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, SetupError } from '../setup/setup-error.mjs';

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
 * @param {import('./rabbitmq-installation.mjs').RabbitmqInstallation} installation
 * @param {{ outDirectory: string }} options
 * @returns {Promise<DelayedExchange>}
 */
export async function obtainDelayedExchange(installation, { outDirectory }) {
  if (hasGenuinePlugin(installation.pluginFolders)) return { kind: 'genuine', pluginName: genuine, folders: [] };
  const { erlangBin, rabbitHome } = installation;
  try {
    const { buildStandIn } = await import('./stand-in.mjs');
    const { pluginsDirectory, pluginName } = await buildStandIn({ erlangBin, rabbitHome, outDirectory });
    return { kind: 'stand-in', pluginName, folders: [pluginsDirectory] };
  } catch (cause) {
    throw new SetupError('NO_DELAYED_EXCHANGE', `the stand-in of ${genuine} could not be built: ${messageOf(cause)}`, {
      remedy: `put the genuine plugin into ${join(rabbitHome, 'plugins')}, or use a broker without it`,
      cause,
    });
  }
}

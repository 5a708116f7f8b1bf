/** @typedef {'rabbitmq-plain' | 'rabbitmq-plugin'} Broker */

/**
 * The broker that can do what the demo is asked to show. One that the user named is the user's choice.
 *
 * @param {string[]} args  of the demo
 * @param {{ isGiven: boolean }} facts
 * @returns {Broker}
 */
export function brokerForDemo(args, { isGiven }) {
  const at = args.findIndex((arg) => arg === '--transport' || arg.startsWith('--transport='));
  const transport = at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1]);
  const wantsPlugin = transport === 'delayed-exchange' || transport === 'auto';
  return wantsPlugin && !isGiven ? 'rabbitmq-plugin' : 'rabbitmq-plain';
}

/**
 * The service gets the best broker there is: Docker's has the genuine plugin. A private one with the stand-in
 * would lose its delayed messages on a restart, and is for tests and the demo.
 *
 * @param {{ isGiven: boolean, hasDocker: boolean }} facts
 * @returns {Broker}
 */
export const brokerForService = ({ isGiven, hasDocker }) =>
  hasDocker && !isGiven ? 'rabbitmq-plugin' : 'rabbitmq-plain';

import { join } from 'node:path';
import { SetupError } from '../setup/setup-error.mjs';
import { waitUntil } from '../setup/wait.mjs';
import { delayedExchangeFor } from '../stack/private-stack.mjs';
import { rabbitmqServer } from '../stack/rabbitmq-server.mjs';
import { passwords } from '../stack/secrets.mjs';
import { killServer, startServer } from '../stack/supervisor.mjs';
import { throwAwayPlace } from '../stack/throw-away-place.mjs';

const readyLimitMs = 30_000;

/** @typedef {import('../stack/rabbitmq-installation.mjs').RabbitmqInstallation} RabbitmqInstallation */
/** @typedef {import('../stack/rabbitmq-server.mjs').RabbitmqAccess} RabbitmqAccess */
/** @typedef {{ access: RabbitmqAccess, stop: () => Promise<void> }} Node */

/**
 * One broker with data of its own, on ports of its own. The data goes with this process.
 *
 * @param {RabbitmqInstallation} installation
 * @param {{ profile: 'plain' | 'plugin', signal: AbortSignal }} options
 * @returns {Promise<Node>}
 */
export async function startNode(installation, { profile, signal }) {
  const place = await throwAwayPlace(undefined);
  const isPlugin = profile === 'plugin';
  const delayedExchange = isPlugin ? await delayedExchangeFor(installation, { ...place, signal }) : undefined;
  const given = { installation, delayedExchange, password: passwords(place.home).rabbitmq };
  const logFile = join(place.directory, 'rabbitmq.log');
  const spec = rabbitmqServer({ ...place, ...given, name: `matrix-${profile}`, logFile });
  const server = await startServer(spec, { signal });
  await managementReady(spec, signal);
  // Nothing of it is wanted any more, so nothing has to be flushed.
  return { access: spec.access, stop: () => killServer(server) };
}

/**
 * RabbitMQ 4.3 takes connections before its management API answers.
 *
 * @param {import('../stack/supervisor.mjs').ServerSpec<RabbitmqAccess>} spec
 * @param {AbortSignal} signal
 */
export async function managementReady({ name, access, logFile }, signal) {
  const { username, password, origin } = new URL(access.managementUrl);
  const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
  const answers = () =>
    fetch(`${origin}/api/overview`, { headers, signal }).then(
      ({ ok }) => ok,
      () => false,
    );
  if (await waitUntil(answers, { limitMs: readyLimitMs, signal })) return;
  throw new SetupError('SERVER_FAILED', `the management API of ${name} does not answer`, { logFile });
}

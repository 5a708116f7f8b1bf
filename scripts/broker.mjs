// node scripts/broker.mjs [--directory D] [--profile plain|plugin] [--port P] [--management-port M] [--prometheus-port P]
//   [--max-message-size BYTES]
// One throw-away RabbitMQ in the foreground, see stack/throw-away.mjs for its protocol.
import { join } from 'node:path';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { delayedExchangeFor } from './stack/private-stack.mjs';
import { obtainRabbitmq } from './stack/obtain-rabbitmq.mjs';
import { rabbitmqServer } from './stack/rabbitmq-server.mjs';
import { passwords } from './stack/secrets.mjs';
import { readOptions, throwAwayPlace } from './stack/throw-away-place.mjs';
import { serveThrowAway } from './stack/throw-away.mjs';

/** @param {Record<string, string | undefined>} options */
function wantedPorts({ port, 'management-port': management, 'prometheus-port': prometheus }) {
  return {
    ...(port && { amqp: Number(port) }),
    ...(management && { management: Number(management) }),
    ...(prometheus && { prometheus: Number(prometheus) }),
  };
}

const names = ['directory', 'profile', 'port', 'management-port', 'prometheus-port', 'max-message-size'];

await main(async ({ args, signal }) => {
  const options = readOptions(args, names);
  const profile = options.profile ?? 'plain';
  const place = await throwAwayPlace(options.directory);
  const { home, user, directory } = place;
  const { installation, spec } = await showProgress('preparing a throw-away RabbitMQ', async (note) => {
    const installation = await obtainRabbitmq({ home, shared: Boolean(user), signal, note });
    const delayedExchange =
      profile === 'plugin' ? await delayedExchangeFor(installation, { home, user, signal }) : undefined;
    const given = { installation, delayedExchange, ports: wantedPorts(options), password: passwords(home).rabbitmq };
    const maxMessageSize = Number(options['max-message-size']) || undefined;
    const logFile = join(directory, 'rabbitmq.log');
    const prometheus = options['prometheus-port'] !== undefined;
    const spec = rabbitmqServer({ ...place, ...given, maxMessageSize, prometheus, name: 'throw-away', logFile });
    return { installation, spec };
  });
  // With these, its owner can run Erlang in it.
  const { erlangBin, libraryFolders } = installation;
  const { url: amqpUrl, managementUrl, delayedExchange } = spec.access;
  // Its data is flushed within a second; what takes 5 more is the management plugin waiting for nobody.
  spec.stopLimitMs = 2000;
  await serveThrowAway(spec, {
    signal,
    access: { amqpUrl, managementUrl, profile, delayedExchange, erlangBin, libraryFolders },
  });
});

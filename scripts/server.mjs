// node scripts/server.mjs NAME [OPTIONS]: one throw-away server in the foreground, for a program that stops and kills it.
// stack/supervisor.mjs has the protocol. Each takes --directory D, else it makes a folder and removes it in the end.
//   postgres
//   forgetful-postgres   in memory where there is room; loses everything when it is killed
//   replicated   a primary and its synchronous standby; kill-primary, stop-primary, promote … instead of start and kill
//   rabbitmq     --profile plain|plugin --port P --management-port M --prometheus-port P --max-message-size BYTES
//   redis        --appendfsync everysec|always
//   pgbouncer    pools by transaction, before the servers in DATABASE_URLS
//   prometheus   with the configuration in PROMETHEUS_CONFIG and the rules of observability/
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from './setup/errors.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';
import {
  obtainPgbouncer,
  obtainPrometheus,
  obtainRedis,
  pgbouncerServer,
  prometheusServer,
  redisServer,
} from './stack/other-servers.mjs';
import { passwords, readOptions, throwAwayPlace } from './stack/place.mjs';
import { obtainPostgres, postgresServer } from './stack/postgres.mjs';
import { delayedExchangeFor } from './stack/private-stack.mjs';
import { obtainRabbitmq, rabbitmqServer } from './stack/rabbitmq.mjs';
import { obeyLines, serveThrowAway, tell } from './stack/supervisor.mjs';

/** @typedef {import('./stack/supervisor.mjs').ServerSpec} ServerSpec */
/** @typedef {Awaited<ReturnType<typeof throwAwayPlace>>} Place */
/** @typedef {Record<string, string | undefined>} Options */
/** @typedef {import('./setup/progress.mjs').StepOptions & { home: string, shared: boolean }} Obtain  where programs come from */
/** @typedef {{ spec: ServerSpec, access: Record<string, unknown> }} Served  `access`: told with every "ready" */
/** @typedef {(place: Place, obtain: Obtain, options: Options) => Promise<Served>} Prepare */

/** @param {Record<string, string | number>} settings @returns {Prepare} */
const postgres = (settings) => async (place, obtain) => {
  const spec = await postgresServer({
    ...{ ...place, installation: await obtainPostgres(obtain), password: passwords(place.home).postgres, settings },
    ...{ name: 'throw-away', logFile: join(place.directory, 'postgres.log'), signal: obtain.signal },
  });
  return { spec, access: { databaseUrl: spec.access.url } };
};

/** @type {Prepare} */
async function forgetfulPostgres(place, obtain, options) {
  // A socket of the file system takes less time than the network. Its path may be 107 bytes long.
  const socket = place.directory.length < 90 ? place.directory : '';
  const served = await postgres({ ...forgetful, unix_socket_directories: socket })(place, obtain, options);
  return { ...served, access: { ...served.access, socket } };
}

/** Nothing survives, and nothing happens in the background. */
const forgetful = {
  ...{ fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', wal_level: 'minimal', max_wal_senders: 0 },
  ...{ autovacuum: 'off', jit: 'off', bgwriter_lru_maxpages: 0, checkpoint_timeout: '1d', max_wal_size: '1GB' },
  ...{ shared_buffers: '64MB', dynamic_shared_memory_type: 'mmap' },
};

/** @type {Prepare} */
async function rabbitmq(place, obtain, options) {
  const { profile = 'plain', port, 'management-port': management, 'prometheus-port': metrics } = options;
  const installation = await obtainRabbitmq(obtain);
  const delayedExchange =
    profile === 'plugin' ? await delayedExchangeFor(installation, { ...place, signal: obtain.signal }) : undefined;
  const ports = {
    ...(port && { amqp: Number(port) }),
    ...(management && { management: Number(management) }),
    ...(metrics && { prometheus: Number(metrics) }),
  };
  const spec = rabbitmqServer({
    ...{ ...place, installation, delayedExchange, password: passwords(place.home).rabbitmq, name: 'throw-away' },
    ...{ ports, prometheus: metrics !== undefined, maxMessageSize: Number(options['max-message-size']) || undefined },
    logFile: join(place.directory, 'rabbitmq.log'),
  });
  // Its data is flushed within a second; what takes 5 more is the management plugin waiting for nobody.
  spec.stopLimitMs = 2000;
  // With these, its owner can run Erlang in it.
  const { erlangBin, libraryFolders } = installation;
  const { url: amqpUrl, managementUrl, delayedExchange: kind } = spec.access;
  return { spec, access: { amqpUrl, managementUrl, profile, delayedExchange: kind, erlangBin, libraryFolders } };
}

/** @type {Prepare} */
async function redis(place, obtain, { appendfsync = 'always' }) {
  const spec = redisServer({ ...place, command: await obtainRedis(obtain), appendfsync });
  return { spec, access: spec.access };
}

/** @type {Prepare} */
async function pgbouncer(place, obtain) {
  const urls = (process.env.DATABASE_URLS ?? '').split(',');
  const spec = pgbouncerServer({ ...place, urls, installation: await obtainPgbouncer(obtain) });
  return { spec, access: spec.access };
}

/** @type {Prepare} */
async function prometheus(place, obtain) {
  const rules = readFileSync(join(repository, 'observability', 'alerts.yml'), 'utf8');
  const files = { 'prometheus.yml': process.env.PROMETHEUS_CONFIG ?? '', 'alerts.yml': rules };
  const spec = prometheusServer({ ...place, files, installation: await obtainPrometheus(obtain) });
  return { spec, access: spec.access };
}

/** @param {Place} place @param {Obtain} obtain @param {AbortSignal} signal */
async function serveReplicated(place, obtain, signal) {
  // It needs pg, which the others do without.
  const { ReplicatedPostgres } = await import('./stack/replicated-postgres.mjs');
  const installation = await obtainPostgres(obtain);
  const servers = await ReplicatedPostgres.make({
    ...{ ...place, installation, password: passwords(place.home).postgres, signal },
  });
  /** @type {Record<string, () => Promise<void>>} */
  const commands = {
    start: () => servers.start(),
    'kill-primary': () => servers.killPrimary(),
    'stop-primary': () => servers.stopPrimary(),
    'start-primary': () => servers.startPrimary(),
    'start-old-primary': () => servers.startOldPrimary(),
    'kill-standby': () => servers.killStandby(),
    promote: () => servers.promote(),
    rejoin: () => servers.rejoin(),
  };
  const obey = async (/** @type {string} */ command) => {
    const known = commands[command];
    if (!known) throw new Error(`unknown; one of ${Object.keys(commands).join(', ')}`);
    await known();
    tell({ event: 'done', command, ...servers.access });
  };
  try {
    await obey('start');
    await obeyLines(obey, signal);
  } finally {
    await servers.close();
  }
}

/** @type {Record<string, Prepare>} */
const all = {
  postgres: postgres({}),
  'forgetful-postgres': forgetfulPostgres,
  ...{ rabbitmq, redis, pgbouncer, prometheus },
};
const values = [
  'directory',
  'profile',
  'port',
  'management-port',
  'prometheus-port',
  'max-message-size',
  'appendfsync',
];

await main(async ({ args: [name = '', ...args], signal }) => {
  const options = readOptions(args, values);
  const prepare = all[name];
  if (!prepare && name !== 'replicated')
    throw new SetupError('USAGE', `there is no server ${name}`, {
      remedy: `${Object.keys(all).join(', ')}, replicated`,
    });
  const place = await throwAwayPlace(options.directory, { inMemory: name === 'forgetful-postgres' });
  const obtain = { home: place.home, shared: Boolean(place.user), signal };
  if (!prepare) return serveReplicated(place, obtain, signal);
  const { spec, access } = await showProgress(`preparing a throw-away ${name}`, (note) =>
    prepare(place, { ...obtain, note }, options),
  );
  await serveThrowAway(spec, { signal, access });
});

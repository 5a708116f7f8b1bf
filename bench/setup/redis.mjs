// node bench/setup/redis.mjs --appendfsync everysec|always
// One throw-away Redis in the foreground, see ../stack/throw-away.mjs for its protocol.
import { join } from 'node:path';
import { main } from '../../scripts/setup/main.mjs';
import { throwAwayPlace, readOptions } from '../../scripts/stack/throw-away-place.mjs';
import { serveThrowAway } from '../../scripts/stack/throw-away.mjs';
import { obtainRedis } from './obtain-redis.mjs';

await main(async ({ args, signal }) => {
  const { appendfsync = 'always' } = readOptions(args, ['appendfsync']);
  const { home, user, directory, basePort } = await throwAwayPlace(undefined);
  const command = await obtainRedis({ home, signal });
  const settings = {
    bind: '127.0.0.1',
    port: basePort,
    dir: directory,
    appendonly: 'yes',
    appendfsync,
    // Snapshots would be a second log beside the append-only file.
    save: '',
  };
  /** @type {import('../../scripts/stack/supervisor.mjs').ServerSpec} */
  const spec = {
    name: 'throw-away Redis',
    command,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    cwd: directory,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    ...(user && { user }),
    ports: [basePort],
    stopSignal: 'SIGTERM',
    stopLimitMs: 5_000,
    startLimitMs: 10_000,
    logFile: join(directory, 'redis.log'),
    access: {},
  };
  await serveThrowAway(spec, { signal, access: { redisUrl: `redis://127.0.0.1:${basePort}` } });
});

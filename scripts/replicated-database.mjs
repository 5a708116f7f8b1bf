// node scripts/replicated-database.mjs [--directory D]
// A throw-away PostgreSQL primary and its synchronous standby. One JSON line per event on stdout, one command per line on
// stdin: kill-primary, stop-primary, start-primary, kill-standby, promote, rejoin. It ends with its owner, as
// stack/throw-away.mjs does.
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainPostgres } from './stack/postgres-installation.mjs';
import { ReplicatedPostgres } from './stack/replicated-postgres.mjs';
import { passwords } from './stack/secrets.mjs';
import { readOptions, throwAwayPlace } from './stack/throw-away-place.mjs';
import { obeyLines, tell } from './stack/throw-away.mjs';

await main(async ({ args, signal }) => {
  const place = await throwAwayPlace(readOptions(args, ['directory']).directory);
  const { home, user } = place;
  const servers = await showProgress('preparing a throw-away PostgreSQL with a standby', async (note) => {
    const installation = await obtainPostgres({ home, shared: Boolean(user), signal, note });
    return ReplicatedPostgres.make({ ...place, installation, password: passwords(home).postgres, signal });
  });
  /** @type {Record<string, () => Promise<void>>} */
  const commands = {
    start: () => servers.start(),
    'kill-primary': () => servers.killPrimary(),
    'stop-primary': () => servers.stopPrimary(),
    'start-primary': () => servers.startPrimary(),
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
});

// node scripts/database.mjs [--directory D]
// One throw-away PostgreSQL in the foreground, see stack/throw-away.mjs for its protocol.
import { join } from 'node:path';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainPostgres } from './stack/postgres-installation.mjs';
import { postgresServer } from './stack/postgres-server.mjs';
import { passwords } from './stack/secrets.mjs';
import { readOptions, throwAwayPlace } from './stack/throw-away-place.mjs';
import { serveThrowAway } from './stack/throw-away.mjs';

await main(async ({ args, signal }) => {
  const place = await throwAwayPlace(readOptions(args, ['directory']).directory);
  const { home, user, directory } = place;
  const spec = await showProgress('preparing a throw-away PostgreSQL', async (note) => {
    const installation = await obtainPostgres({ home, shared: Boolean(user), signal, note });
    const password = passwords(home).postgres;
    return postgresServer({
      ...place,
      installation,
      password,
      signal,
      name: 'throw-away',
      logFile: join(directory, 'postgres.log'),
    });
  });
  await serveThrowAway(spec, { signal, access: { databaseUrl: spec.access.url } });
});

// DATABASE_URLS=url[,url] node scripts/pgbouncer.mjs [--directory D]
// A throw-away PgBouncer, which pools by transaction, in the foreground; see stack/throw-away.mjs for its protocol.
import { join } from 'node:path';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainPgbouncer } from './stack/pgbouncer-installation.mjs';
import { pgbouncerServer } from './stack/pgbouncer-server.mjs';
import { readOptions, throwAwayPlace } from './stack/throw-away-place.mjs';
import { serveThrowAway } from './stack/throw-away.mjs';

await main(async ({ args, signal }) => {
  const place = await throwAwayPlace(readOptions(args, ['directory']).directory);
  const { home, user, directory } = place;
  const installation = await showProgress('preparing a throw-away PgBouncer', (note) =>
    obtainPgbouncer({ home, shared: Boolean(user), signal, note }),
  );
  const urls = (process.env.DATABASE_URLS ?? '').split(',');
  const spec = pgbouncerServer({ ...place, urls, installation, logFile: join(directory, 'pgbouncer.log') });
  await serveThrowAway(spec, { signal, access: spec.access });
});

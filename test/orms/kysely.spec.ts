import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import { fromKysely } from '../../src';
import { describeHostLibrary } from '../support/describe-host-library';
import { type HostLibrary } from '../support/host-library';

interface Tables {
  hostNote: { text: string };
}

/** With the plugin that renames columns, which must leave ours alone. */
function openKysely(url: string): HostLibrary {
  const dialect = new PostgresDialect({ pool: new Pool({ connectionString: url, max: 3 }) });
  const db = new Kysely<Tables>({ dialect, plugins: [new CamelCasePlugin()] });
  return {
    run: (work, level) =>
      db
        .transaction()
        .setIsolationLevel(level ? 'repeatable read' : 'read committed')
        .execute((trx) =>
          work({ tx: fromKysely(trx), note: (text) => trx.insertInto('hostNote').values({ text }).execute() }),
        ),
    outside: () => fromKysely(db),
    close: () => db.destroy(),
  };
}

describeHostLibrary('Kysely', openKysely);

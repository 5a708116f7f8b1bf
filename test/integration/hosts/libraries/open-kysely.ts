import { CamelCasePlugin, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { Pool } from 'pg';
import { fromKysely } from '../../../../src/public/transactions';
import { type HostLibrary, type HostTransaction, inSavepoint } from '../../../support/host-library';

interface Tables {
  hostNote: { text: string };
}

const hostOf = (trx: Transaction<Tables>): HostTransaction => ({
  tx: fromKysely(trx),
  note: (text) => trx.insertInto('hostNote').values({ text }).execute(),
  nest: (work) =>
    inSavepoint(
      (statement) => sql.raw(statement).execute(trx),
      () => work(hostOf(trx)),
    ),
});

/** With the plugin that renames columns, which must leave ours alone. */
export function openKysely(url: string): HostLibrary {
  const dialect = new PostgresDialect({ pool: new Pool({ connectionString: url, max: 3 }) });
  const db = new Kysely<Tables>({ dialect, plugins: [new CamelCasePlugin()] });
  return {
    run: (work, level) =>
      db
        .transaction()
        .setIsolationLevel(level ? 'repeatable read' : 'read committed')
        .execute((trx) => work(hostOf(trx))),
    outside: () => fromKysely(db),
    close: () => db.destroy(),
  };
}

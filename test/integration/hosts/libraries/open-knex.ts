import { knex, type Knex } from 'knex';
import { fromKnex } from '../../../../src/public/transactions';
import { type HostLibrary, type HostTransaction } from '../../../support/host-library';

const hostOf = (trx: Knex.Transaction): HostTransaction => ({
  tx: fromKnex(trx),
  note: async (text) => trx('host_note').insert({ text }),
  nest: (work) => trx.transaction((nested) => work(hostOf(nested))),
});

export function openKnex(url: string): HostLibrary {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } });
  return {
    run: (work, level) =>
      db.transaction((trx) => work(hostOf(trx)), { isolationLevel: level ? 'repeatable read' : 'read committed' }),
    outside: () => fromKnex(db),
    close: () => db.destroy(),
  };
}

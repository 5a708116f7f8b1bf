import { knex } from 'knex';
import { fromKnex } from '../../src';
import { describeHostLibrary } from '../support/describe-host-library';
import { type HostLibrary } from '../support/host-library';

function openKnex(url: string): HostLibrary {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } });
  return {
    run: (work, level) =>
      db.transaction((trx) => work({ tx: fromKnex(trx), note: async (text) => trx('host_note').insert({ text }) }), {
        isolationLevel: level ? 'repeatable read' : 'read committed',
      }),
    outside: () => fromKnex(db),
    close: () => db.destroy(),
  };
}

describeHostLibrary('Knex', openKnex);

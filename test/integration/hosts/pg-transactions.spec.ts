import { type ClientBase, Pool } from 'pg';
import { describeHostLibrary } from '../../support/describe-host-library';
import { type HostLibrary, type HostTransaction } from '../../support/host-library';

/** A host that uses `pg` alone. */
function openPg(url: string): HostLibrary {
  const pool = new Pool({ connectionString: url, max: 3 });
  const inTransaction = async <T>(client: ClientBase, work: (host: HostTransaction) => Promise<T>, level: string) => {
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    try {
      const note = (text: string) => client.query('INSERT INTO host_note VALUES ($1)', [text]);
      const result = await work({ tx: client, note });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  };
  return {
    run: async (work, level = 'READ COMMITTED' as never) => {
      const client = await pool.connect();
      return inTransaction(client, work, level).finally(() => client.release());
    },
    outside: () => pool,
    close: () => pool.end(),
  };
}

describeHostLibrary('pg', openPg);

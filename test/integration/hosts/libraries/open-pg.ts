import { type ClientBase, Pool, types } from 'pg';
import { type HostLibrary, type HostTransaction, inSavepoint } from '../../../support/host-library';

/** Parsers of the host's own: a bigint is a BigInt, and an instant stays text. */
const PARSERS = new Map<number, unknown>([
  [types.builtins.INT8, BigInt],
  [types.builtins.TIMESTAMPTZ, String],
]);
const getTypeParser = ((id, format) =>
  PARSERS.get(id) ?? (types.getTypeParser(id, format) as unknown)) as typeof types.getTypeParser;

function hostOf(client: ClientBase): HostTransaction {
  return {
    tx: client,
    note: (text) => client.query('INSERT INTO host_note VALUES ($1)', [text]),
    nest: (work) =>
      inSavepoint(
        (sql) => client.query(sql),
        () => work(hostOf(client)),
      ),
  };
}

/** A host that uses `pg` alone. */
export function openPg(url: string): HostLibrary {
  const pool = new Pool({ connectionString: url, max: 3, types: { getTypeParser } });
  const inTransaction = async <T>(client: ClientBase, work: (host: HostTransaction) => Promise<T>, level: string) => {
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    try {
      const result = await work(hostOf(client));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  };
  return {
    run: async (work, level) => {
      const client = await pool.connect();
      return inTransaction(client, work, level ?? 'READ COMMITTED').finally(() => client.release());
    },
    outside: () => pool as never,
    close: () => pool.end(),
    isSeen: true,
  };
}

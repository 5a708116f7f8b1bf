import { DataSource, type EntityManager } from 'typeorm';
import { type HostLibrary, type HostTransaction } from '../../../support/host-library';

const hostOf = (tx: EntityManager): HostTransaction => ({
  tx,
  note: (text) => tx.query('INSERT INTO host_note VALUES ($1)', [text]),
  nest: (work) => tx.transaction((nested) => work(hostOf(nested))),
});

/** A host with a DataSource of its own, beside that of the module. */
export async function openTypeOrm(url: string): Promise<HostLibrary> {
  const dataSource = await new DataSource({ type: 'postgres', url, poolSize: 3 }).initialize();
  return {
    run: (work, level) => dataSource.transaction(level ?? 'READ COMMITTED', (tx) => work(hostOf(tx))),
    outside: () => dataSource.manager,
    close: () => dataSource.destroy(),
    isSeen: true,
  };
}

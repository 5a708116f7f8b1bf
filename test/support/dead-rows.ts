import { type DataSource, type EntityManager } from 'typeorm';

/** Pages of 8 kB that the statement looks at. It is run once by this, too. */
export async function buffersOf(tx: Pick<EntityManager, 'query'>, sql: string, args: unknown[]): Promise<number> {
  interface Plan {
    readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
  }
  const [row] = await tx.query<{ 'QUERY PLAN': Plan[] }[]>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`, args);
  const plan = row?.['QUERY PLAN'][0]?.Plan;
  if (!plan) throw new Error('no plan');
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** Somebody who reads for a long time, as pg_dump does: what is deleted meanwhile stays in every index. Returns the end of it. */
export async function holdSnapshot(dataSource: DataSource): Promise<() => Promise<void>> {
  const runner = dataSource.createQueryRunner();
  await runner.startTransaction('REPEATABLE READ');
  await runner.query('SELECT count(*) FROM pg_class');
  return async () => {
    await runner.rollbackTransaction();
    await runner.release();
  };
}

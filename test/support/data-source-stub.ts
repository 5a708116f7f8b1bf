import { type DataSource } from 'typeorm';

/** A DataSource whose transactions run, and reach no database. */
export function dataSourceStub(tx: object = {}): DataSource {
  const nothing = async (): Promise<void> => undefined;
  const runner = () => ({
    manager: tx,
    query: nothing,
    startTransaction: nothing,
    commitTransaction: nothing,
    rollbackTransaction: nothing,
    release: nothing,
  });
  return { createQueryRunner: runner } as unknown as DataSource;
}

import { type DataSource } from 'typeorm';

/** A DataSource whose transactions run, and reach no database. @param query answers single statements */
export function dataSourceStub(
  tx: object = {},
  query: (sql: string, values?: unknown[]) => Promise<unknown> = async () => undefined,
): DataSource {
  const nothing = async (): Promise<void> => undefined;
  const runner = () => ({
    manager: tx,
    connect: nothing,
    query,
    startTransaction: nothing,
    commitTransaction: nothing,
    rollbackTransaction: nothing,
    release: nothing,
  });
  return { createQueryRunner: runner } as unknown as DataSource;
}

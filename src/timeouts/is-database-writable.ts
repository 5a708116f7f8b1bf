import { type DataSource } from 'typeorm';

/** Whether the database answers and takes writes: during a failover a standby answers, too. Never rejects. */
export async function isDatabaseWritable(dataSource: Pick<DataSource, 'query'>): Promise<boolean> {
  try {
    const [row] = await dataSource.query<{ transaction_read_only: string }[]>('SHOW transaction_read_only');
    return row?.transaction_read_only === 'off';
  } catch {
    return false;
  }
}

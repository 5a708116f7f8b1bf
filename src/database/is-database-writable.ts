import { type DataSource } from 'typeorm';
import { canWrite } from './can-write';

/** Whether the database answers and takes writes: during a failover a standby answers, too. Never rejects. */
export function isDatabaseWritable(dataSource: DataSource): Promise<boolean> {
  return canWrite(dataSource).catch(() => false);
}

import { type DataSource } from 'typeorm';
import { canWrite } from './can-write';
import { isRefusingWork } from './refused-work';

/**
 * Whether the database answers and takes writes: during a failover a standby answers, too, and a full disk lets reads
 * through. Never rejects.
 */
export function isDatabaseWritable(dataSource: DataSource): Promise<boolean> {
  if (isRefusingWork(dataSource)) return Promise.resolve(false);
  return canWrite(dataSource).catch(() => false);
}

import { Logger } from '@nestjs/common';
import { assertTables } from './assert-tables';
import { poolGaps } from './pool-gaps';
import { refuseSharedSchema } from './refuse-shared-schema';
import { refuseUsedDatabase } from './refuse-used-database';
import { type ResolvedTimeoutsOptions } from '../timeouts-options';

const logger = new Logger('Start');

/**
 * Also says once what the pool lacks.
 *
 * @throws SharedSchemaError, MissingTablesError, MissingRightsError, or NotATestDatabaseError when the engine cannot run on
 * this database.
 */
export async function assertDatabase(options: ResolvedTimeoutsOptions): Promise<void> {
  const { dataSource, schema, ownsDatabase, isDrivenByTests } = options;
  if (!ownsDatabase) await refuseSharedSchema(dataSource, schema);
  await assertTables(dataSource, schema, 'engine');
  if (isDrivenByTests) return refuseUsedDatabase(options);
  const gaps = poolGaps(dataSource);
  if (gaps !== undefined) logger.warn(gaps);
}

import { Logger } from '@nestjs/common';
import { assertTables } from './assert-tables';
import { poolGaps } from './pool-gaps';
import { refuseSharedSchema } from './refuse-shared-schema';
import { type ResolvedTimeoutsOptions } from '../timeouts-options';

const logger = new Logger('Start');

/**
 * Also says once what the pool lacks.
 *
 * @throws SharedSchemaError, MissingTablesError or MissingRightsError when the engine cannot run on this database.
 */
export async function assertDatabase({ dataSource, schema, ownsDatabase }: ResolvedTimeoutsOptions): Promise<void> {
  if (!ownsDatabase) await refuseSharedSchema(dataSource, schema);
  await assertTables(dataSource, schema, 'engine');
  const gaps = poolGaps(dataSource);
  if (gaps !== undefined) logger.warn(gaps);
}

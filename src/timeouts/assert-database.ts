import { assertTables } from './assert-tables';
import { refuseSharedSchema } from './refuse-shared-schema';
import { type ResolvedTimeoutsOptions } from './timeouts-options';

/** @throws SharedSchemaError, MissingTablesError or MissingRightsError when the engine cannot run on this database. */
export async function assertDatabase({ dataSource, schema, ownsDatabase }: ResolvedTimeoutsOptions): Promise<void> {
  if (!ownsDatabase) await refuseSharedSchema(dataSource, schema);
  await assertTables(dataSource, schema, 'engine');
}

import { EngineSettings } from '../message-path/engine-settings';
import { type ResolvedTimeoutsOptions } from '../timeouts-options';
import { NotATestDatabaseError } from './not-a-test-database-error';

/** An engine that runs records its message path; one that tests drive does not. @throws NotATestDatabaseError */
export async function refuseUsedDatabase({ dataSource, schema }: ResolvedTimeoutsOptions): Promise<void> {
  const path = await new EngineSettings(schema).read(dataSource, 'message-path');
  if (path !== undefined) throw new NotATestDatabaseError(dataSource.driver.database ?? '', schema);
}

import { ownQuery } from '../../database';
import { TimeoutQueries } from '../scheduling/timeout-queries';
import { MissingTimeoutHandlerError } from '../timeout-errors';
import { type ResolvedTimeoutsOptions } from '../timeouts-options';

/** @throws MissingTimeoutHandlerError if the database holds timeouts of a kind that has no handler in this process. */
export async function refuseMissingHandlers(
  { dataSource, schema }: Pick<ResolvedTimeoutsOptions, 'dataSource' | 'schema'>,
  handled: readonly string[],
): Promise<void> {
  const rows = await ownQuery<{ kind: string }[]>(dataSource, new TimeoutQueries(schema).kinds);
  const missing = rows.map(({ kind }) => kind).filter((kind) => !handled.includes(kind));
  if (missing.length > 0) throw new MissingTimeoutHandlerError(missing);
}

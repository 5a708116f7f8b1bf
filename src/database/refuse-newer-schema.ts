import { type RecordedMigration } from './migrations-table';
import { NewerSchemaError } from './newer-schema-error';

/**
 * Accepts migrations that this release knows, and unknown ones that are compatible with a migration that it knows.
 *
 * @throws NewerSchemaError naming the others.
 */
export function refuseNewerSchema(
  schema: string,
  recorded: readonly RecordedMigration[],
  known: readonly string[],
): void {
  const unfit = recorded.filter(({ name, compatibleSince }) => !known.includes(name) && !isKnown(compatibleSince));
  if (unfit.length > 0) {
    throw new NewerSchemaError(
      schema,
      unfit.map(({ name }) => name),
    );
  }

  function isKnown(since: string | undefined): boolean {
    return since !== undefined && known.includes(since);
  }
}

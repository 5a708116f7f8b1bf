import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexLive, type LiveMigration, type Migration } from './migrations';

/** A migration that sends these statements, in order. The name ends with the timestamp by which TypeORM sorts. */
export function migrationOf(name: string, up: readonly string[], down: readonly string[]): Migration {
  return named(
    name,
    class implements MigrationInterface {
      readonly name = name;

      async up(runner: QueryRunner): Promise<void> {
        for (const statement of up) await runner.query(statement);
      }

      async down(runner: QueryRunner): Promise<void> {
        for (const statement of down) await runner.query(statement);
      }
    },
  );
}

/** A migration that creates these indexes while others write to the table. `indexes`: what follows ON, by name. */
export function indexMigrationOf(
  name: string,
  schema: string,
  table: string,
  indexes: Readonly<Record<string, string>>,
): Migration {
  return named(
    name,
    class implements LiveMigration {
      readonly name = name;
      readonly isLive = true;

      async up(runner: QueryRunner): Promise<void> {
        for (const [index, on] of Object.entries(indexes))
          await createIndexLive(runner, schema, { name: index, table, on });
      }

      async down(runner: QueryRunner): Promise<void> {
        for (const index of Object.keys(indexes)) await runner.query(`DROP INDEX ${schema}.${index}`);
      }
    },
  );
}

/** The migrations of a host are classes that have their names, too. */
function named(name: string, migration: Migration): Migration {
  return Object.defineProperty(migration, 'name', { value: name });
}

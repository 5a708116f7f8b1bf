import { Command } from 'commander';
import { migrateTarget, migrationsSql, readMigrationStatus } from '../../module';
import { loadCommandConfig } from '../../service';
import { type Cli, type CommonOptions } from '../cli';
import { EXIT, type Report } from '../report';
import { textTable } from '../text-table';

interface SqlOptions extends CommonOptions {
  readonly sql?: boolean;
}

interface RunOptions extends CommonOptions {
  readonly dryRun?: boolean;
}

/** Shows, prints, and runs migrations. */
export function migrationsCommand(cli: Cli): Command {
  const migrations = new Command('migrations')
    .description('show and run the migrations of the tables')
    .option('--sql', 'print what is pending as SQL; without DATABASE_URL, all migrations');
  cli.does<[], SqlOptions>(migrations, ({ sql }) => (sql ? print(cli) : status(cli)));
  migrations.addCommand(statusCommand(cli));
  migrations.addCommand(runCommand(cli));
  return migrations;
}

function statusCommand(cli: Cli): Command {
  const command = new Command('status').description('list all migrations; fails while one is pending');
  return cli.does<[], CommonOptions>(command, () => status(cli));
}

function status(cli: Cli): Promise<Report> {
  return cli.withDatabase(async (dataSource, { database }) => {
    const all = await readMigrationStatus(dataSource, database.schema);
    const rows = all.map(({ name, state }) => [name, state]);
    const isPending = all.some(({ state }) => state === 'pending');
    return {
      data: { schema: database.schema, migrations: all },
      text: textTable(['migration', 'state'], rows),
      exitCode: isPending ? EXIT.failed : EXIT.ok,
    };
  });
}

function runCommand(cli: Cli): Command {
  const command = new Command('run')
    .description('run what is pending, as the owner of the tables')
    .option('--dry-run', 'list what is pending, and change nothing');
  return cli.does<[], RunOptions>(command, ({ dryRun = false }) =>
    cli.withDatabase(async (dataSource, { database: { schema } }) => {
      const migrations = dryRun
        ? (await readMigrationStatus(dataSource, schema)).flatMap(({ name, state }) =>
            state === 'pending' ? [name] : [],
          )
        : await migrateTarget({ dataSource, schema, ownsDatabase: true });
      const head = dryRun ? 'would run' : 'ran';
      const text =
        migrations.length === 0
          ? 'Nothing is pending.\n'
          : textTable(
              [head],
              migrations.map((name) => [name]),
            );
      return { data: { dryRun, schema, migrations }, text };
    }),
  );
}

/** Without a database, there is nothing to compare with: a new one needs all. */
async function print(cli: Cli): Promise<Report> {
  const { schema } = loadCommandConfig(cli.environment, []).database;
  const sql = cli.environment.DATABASE_URL
    ? await cli.withDatabase((dataSource) => migrationsSql(schema, dataSource))
    : await migrationsSql(schema);
  return { data: { schema, sql }, text: sql };
}

import { Command, Option } from 'commander';
import { escapeIdentifier } from 'pg';
import { type DataSource } from 'typeorm';
import {
  migrateTarget,
  migrationsSql,
  readMigrationStatus,
  DATABASE_ROLES,
  type DatabaseRole,
  grantsSql,
  findBrokerObjects,
  type FoundObjects,
  type OpenWork,
  readInstalledObjects,
  readOpenWork,
  type SchemaObject,
  uninstallTables,
} from '../../module';
import { loadCommandConfig, openDatabase, type ServiceConfig } from '../../service';
import { SystemClock } from '../../clock';
import { ORDER_KINDS } from '../../orders';
import { type ChannelModel, ManagementApi, RabbitClient, removeTopology, resolveRabbitOptions } from '../../rabbit';
import { type Cli, type CommonOptions, EXIT, type Report, CommandRefusedError, startProgress } from '../cli';
import { textTable } from '../arguments-and-tables';

interface SqlOptions extends CommonOptions {
  readonly sql?: boolean;
}

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
  return cli.does<[], SqlOptions>(command, async (options) => {
    refuseSql(options);
    return status(cli);
  });
}

/** An option of the command is also read behind its subcommands, where it must not be ignored. */
function refuseSql({ sql }: SqlOptions): void {
  if (sql) throw new CommandRefusedError('--sql takes no subcommand: run order-timeout migrations --sql');
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
  return cli.does<[], SqlOptions>(command, async ({ dryRun = false, ...options }) => {
    refuseSql(options);
    return cli.withDatabase(async (dataSource, { database: { schema } }) => {
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
    });
  });
}

/** Without a database, there is nothing to compare with: a new one needs all. */
async function print(cli: Cli): Promise<Report> {
  const { schema } = loadCommandConfig(cli.environment, []).database;
  const sql = cli.environment.DATABASE_URL
    ? await cli.withDatabase((dataSource) => migrationsSql(schema, dataSource))
    : await migrationsSql(schema);
  return { data: { schema, sql }, text: sql };
}

interface GrantsOptions extends CommonOptions {
  readonly role: DatabaseRole;
  readonly to: string;
  readonly owner?: string;
}

export function grantsCommand(cli: Cli): Command {
  const command = new Command('grants')
    .description('print the GRANT statements that a database user needs; connects to nothing')
    .addOption(
      new Option('--role <role>', 'owner: migrates; service: runs with migrate: false; reporting: reads')
        .choices(DATABASE_ROLES)
        .makeOptionMandatory(),
    )
    .requiredOption('--to <user>', 'the database user')
    .option('--owner <user>', 'the owner of the tables: tables of later migrations are granted too');
  return cli.does<[], GrantsOptions>(command, async ({ role, to, owner }) => {
    const { schema } = loadCommandConfig(cli.environment, []).database;
    const names = { to: escapeIdentifier(to), owner: owner === undefined ? undefined : escapeIdentifier(owner) };
    const statements = grantsSql({ schema, role, ...names });
    return { data: { schema, role, to, statements }, text: `${statements.join('\n')}\n` };
  });
}

type Part = 'database' | 'broker';

interface Options extends CommonOptions {
  readonly only?: Part;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly managementUrl?: string;
}

/** What there is, and what would be lost with it. */
interface Plan {
  readonly tables: { readonly ours: readonly SchemaObject[]; readonly others: readonly SchemaObject[] };
  readonly work: OpenWork;
  readonly broker: FoundObjects;
}

const NO_TABLES: Plan['tables'] = { ours: [], others: [] };

const NO_WORK: OpenWork = { timeouts: 0, events: 0, kinds: [] };

const NO_BROKER: FoundObjects = { queues: [], exchanges: [], messages: 0, consumers: 0, isComplete: true };

export function uninstallCommand(cli: Cli): Command {
  const command = new Command('uninstall')
    .description('drop the tables, and delete the queues and exchanges')
    .addOption(new Option('--only <part>', 'leave the other one alone').choices(['database', 'broker']))
    .option('--yes', 'really do it')
    .option('--dry-run', 'list what would go, and change nothing')
    .option('--force', 'even if timeouts, events, commands, or instances are left')
    .option(
      '--management-url <url>',
      'of the management plugin, which lists also what earlier configurations declared',
    );
  return cli.does<[], Options>(command, (options) => uninstall(cli, options));
}

async function uninstall(cli: Cli, options: Options): Promise<Report> {
  const { only } = options;
  const servers = (['DATABASE_URL', 'RABBITMQ_URLS'] as const).filter((name) => only !== partWithout(name));
  const config = loadCommandConfig(cli.environment, servers);
  const dataSource = only === 'broker' ? undefined : await openDatabase(config.database);
  try {
    return await withBroker(config, only, (connection) => run(cli, options, config, { dataSource, connection }));
  } finally {
    await dataSource?.destroy();
  }
}

const partWithout = (name: 'DATABASE_URL' | 'RABBITMQ_URLS'): Part => (name === 'DATABASE_URL' ? 'broker' : 'database');

async function withBroker<T>(
  config: ServiceConfig,
  only: Part | undefined,
  work: (connection: ChannelModel | undefined) => Promise<T>,
): Promise<T> {
  if (only === 'database' || !config.rabbit) return work(undefined);
  return new RabbitClient(resolveRabbitOptions(config.rabbit), new SystemClock()).onTemporaryConnection(work);
}

interface Servers {
  readonly dataSource: DataSource | undefined;
  readonly connection: ChannelModel | undefined;
}

async function run(cli: Cli, options: Options, config: ServiceConfig, servers: Servers): Promise<Report> {
  const plan = await makePlan(cli, options, config, servers);
  if (options.dryRun) return toReport(plan, true);
  if (!options.force) refuse(plan);
  if (!options.yes) throw new CommandRefusedError('this cannot be undone: look at --dry-run first, then give --yes');
  const { connection, dataSource } = servers;
  const { queues, exchanges } = plan.broker;
  const progress = startProgress(cli.terminal, 'queues and exchanges', queues.length + exchanges.length);
  let done = 0;
  if (connection) await removeTopology(connection, plan.broker, () => progress.at(++done));
  progress.stop();
  if (dataSource) await uninstallTables(dataSource, config.database.schema);
  return toReport(plan, false);
}

async function makePlan(
  cli: Cli,
  { managementUrl = cli.environment.RABBITMQ_MANAGEMENT_URL }: Options,
  { database: { schema }, rabbit, ladder, horizonMs }: ServiceConfig,
  { dataSource, connection }: Servers,
): Promise<Plan> {
  const tables = dataSource ? await readInstalledObjects(dataSource, schema) : NO_TABLES;
  const work = dataSource ? await readOpenWork(dataSource, schema, tables.ours) : NO_WORK;
  if (!connection || !rabbit) return { tables, work, broker: NO_BROKER };
  const { names, options } = new RabbitClient(resolveRabbitOptions(rabbit), new SystemClock());
  const kinds = [...new Set([...ORDER_KINDS, ...work.kinds])];
  const topology = { names, queueType: options.queueType, kinds, ladder: { ...ladder, horizonMs } };
  const api = new ManagementApi(rabbit.urls[0] ?? '', managementUrl);
  return { tables, work, broker: await findBrokerObjects(connection, topology, api) };
}

function refuse(plan: Plan): void {
  const lost = lostBy(plan);
  if (lost.length === 0) return;
  throw new CommandRefusedError(`there are ${lost.join(', ')}; let the service finish and stop it, or give --force`);
}

/** What an uninstallation would lose, or take from running instances, and refuses because of it. */
function lostBy({ work, broker }: Plan): string[] {
  const left = [
    [broker.consumers, 'consumers of running instances'],
    [work.timeouts, 'pending or parked timeouts'],
    [work.events, 'events that are not sent'],
    [broker.messages, 'waiting commands or parked messages'],
  ] as const;
  return left.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
}

function toReport(plan: Plan, isDryRun: boolean): Report {
  const { tables, work, broker } = plan;
  const { queues, exchanges, isComplete } = broker;
  const lost = isDryRun ? lostBy(plan) : [];
  const rows = [
    ...tables.ours.map(({ kind, name }) => [kind, name]),
    ...queues.map((name) => ['queue', name]),
    ...exchanges.map((name) => ['exchange', name]),
  ];
  const others = tables.others.map(({ kind, name }) => `${kind} ${name}`);
  const notes = [
    isDryRun ? `Would go. Nothing was changed. Open: ${work.timeouts} timeouts, ${work.events} events.\n` : 'Gone:\n',
    ...(lost.length > 0 ? [`Refused without --force, because there are ${lost.join(', ')}.\n`] : []),
    ...(others.length > 0 ? [`The schema stays, because it has objects of others: ${others.join(', ')}\n`] : []),
    ...(isComplete ? [] : ['Without the management API, queues of earlier configurations are not found.\n']),
  ];
  const data = {
    dryRun: isDryRun,
    tables: tables.ours,
    others: tables.others,
    queues,
    exchanges,
    open: work,
    refusedBecauseOf: lost,
    isComplete,
  };
  return { data, text: `${notes.join('')}\n${textTable(['what', 'name'], rows)}` };
}

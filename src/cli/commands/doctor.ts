import { Command } from 'commander';
import { SystemClock } from '../../clock';
import { assertMigrated, readMigrationStatus } from '../../module';
import { type DoctorReport, examine, type Patient } from '../../operations';
import { ORDER_KINDS } from '../../orders';
import { RabbitClient, resolveRabbitOptions } from '../../rabbit';
import { loadCommandConfig, openDatabase } from '../../service';
import { type Cli, type CommonOptions, EXIT } from '../cli';
import { parseDuration, textPairs } from '../arguments-and-tables';

interface Options extends CommonOptions {
  readonly managementUrl?: string;
  readonly transactionAge: number;
}

const EXIT_OF = { ok: EXIT.ok, warning: EXIT.warnings, error: EXIT.failed } as const;

export function doctorCommand(cli: Cli): Command {
  const command = new Command('doctor')
    .description('find what is wrong with the database and the broker; changes nothing')
    .option(
      '--management-url <url>',
      'of the management plugin (default: RABBITMQ_MANAGEMENT_URL, or port 15672 of the broker)',
    )
    .option('--transaction-age <duration>', 'an open transaction of this age is a finding', parseDuration, 60_000);
  return cli.does<[], Options>(command, async (options) => {
    const report = await examine(patientOf(cli, options));
    return { data: report, text: textOf(report), exitCode: EXIT_OF[report.status] };
  });
}

function patientOf({ environment }: Cli, { managementUrl, transactionAge }: Options): Patient {
  const config = loadCommandConfig(environment, ['DATABASE_URL', 'RABBITMQ_URLS']);
  const { database, rabbit, transport, ladder, horizonMs } = config;
  const clock = new SystemClock();
  return {
    ...{ transport, ladder, horizonMs, schema: database.schema },
    ...{ poolSize: database.poolSize, prepares: database.prepares },
    managementUrl: managementUrl ?? environment.RABBITMQ_MANAGEMENT_URL,
    limits: { transactionS: transactionAge / 1_000 },
    connect: () => openDatabase(database),
    client: rabbit && new RabbitClient(resolveRabbitOptions(rabbit), clock),
    kinds: ORDER_KINDS,
    now: () => clock.now(),
    migrations: (dataSource) => readMigrationStatus(dataSource, database.schema),
    assertMigrated: (dataSource) => assertMigrated(dataSource, database.schema),
  };
}

function textOf({ findings, facts, unchecked }: DoctorReport): string {
  const problems = findings.map(
    ({ id, severity, seen, remedy }) => `${severity.toUpperCase().padEnd(7)} ${id}\n  ${seen}\n  ${remedy}\n`,
  );
  const skipped = unchecked.map(({ what, why }) => `  ${what}: ${why}\n`);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  return [
    textPairs(facts),
    ...problems,
    ...(skipped.length > 0 ? [`Not checked:\n${skipped.join('')}`] : []),
    `${errors} errors, ${findings.length - errors} warnings\n`,
  ].join('\n');
}

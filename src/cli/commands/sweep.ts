import { type INestApplicationContext } from '@nestjs/common';
import { Command } from 'commander';
import { openAttemptProviders } from '../../orders';
import { PaymentProviders } from '../../payments';
import {
  countTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
  TimeoutObservers,
} from '../../timeouts';
import { type Cli, type CommonOptions } from '../cli';
import { CommandRefusedError } from '../command-refused-error';
import { startProgress } from '../progress';
import { type Report } from '../report';
import { textTable } from '../text-table';

interface Options extends CommonOptions {
  readonly once?: boolean;
  readonly dryRun?: boolean;
}

/** How the timeouts of one kind ended. */
type Outcomes = Map<string, Map<string, number>>;

/** Handles what is overdue. */
export function sweepCommand(cli: Cli): Command {
  const command = new Command('sweep')
    .description('handle the overdue timeouts of orders and payments, in this process')
    .requiredOption('--once', 'one sweep; the service sweeps all the time')
    .option('--dry-run', 'count what is overdue, and change nothing');
  return cli.does<[], Options>(command, (options) =>
    cli.withUseCases(options, async (context) => {
      const { dataSource, schema } = context.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS);
      const overdue = (await countTimeouts(dataSource, schema)).filter((one) => one.overdue > 0);
      if (options.dryRun) return toReport(overdue, new Map(), true);
      await refuseUnknownProviders(context);
      const outcomes = await sweep(cli, context, overdue);
      return toReport(overdue, outcomes, false);
    }),
  );
}

/** In an application with providers in its code, this process has none: it would park every order with an attempt. */
async function refuseUnknownProviders(context: INestApplicationContext): Promise<void> {
  const { dataSource, schema } = context.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS);
  const needed = await openAttemptProviders(dataSource, schema);
  const providers = context.get(PaymentProviders);
  const missing = needed.filter((name) => !providers.names().includes(name));
  if (missing.length === 0) return;
  throw new CommandRefusedError(
    `payments of ${missing.join(', ')} are open, and this process does not know these providers, so it would park their ` +
      'orders; set PAYMENT_PROVIDERS_FILE as in the service, or start the application that has the providers',
  );
}

async function sweep(
  cli: Cli,
  context: INestApplicationContext,
  overdue: readonly { readonly overdue: number }[],
): Promise<Outcomes> {
  const outcomes: Outcomes = new Map();
  const total = overdue.reduce((sum, one) => sum + one.overdue, 0);
  const progress = startProgress(cli.terminal, 'overdue timeouts', total);
  let done = 0;
  context.get(TimeoutObservers).add({
    settled: (kind, rows) => {
      const ofKind = outcomes.get(kind) ?? new Map<string, number>();
      for (const { outcome } of rows) ofKind.set(outcome.type, (ofKind.get(outcome.type) ?? 0) + 1);
      outcomes.set(kind, ofKind);
      progress.at((done += rows.length));
    },
  });
  await context.get(TimeoutEngine).sweepOnce();
  progress.stop();
  return outcomes;
}

function toReport(
  overdue: readonly { readonly kind: string; readonly overdue: number }[],
  outcomes: Outcomes,
  isDryRun: boolean,
): Report {
  const kinds = overdue.map(({ kind, overdue: count }) => ({
    kind,
    overdue: count,
    outcomes: Object.fromEntries(outcomes.get(kind) ?? []),
  }));
  const show = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const rows = kinds.map((one) => [one.kind, one.overdue, show(one.outcomes)]);
  const head = isDryRun ? 'Nothing was changed.\n\n' : '';
  return { data: { dryRun: isDryRun, kinds }, text: head + textTable(['kind', 'overdue', 'outcomes'], rows) };
}

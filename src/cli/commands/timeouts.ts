import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { ORDER_PAYMENT, ORDER_REMINDER } from '../../orders';
import {
  countTimeouts,
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type TimeoutRecord,
  type TimeoutRef,
  TimeoutScheduler,
} from '../../timeouts';
import { type Cli, type CommonOptions } from '../cli';
import { CommandRefusedError } from '../command-refused-error';
import { collect, nameOf, parseCount, parseDuration, parseInstant, parseTimeout } from '../parse-argument';
import { type Report } from '../report';
import { textPairs, textTable } from '../text-table';

interface ListOptions extends CommonOptions {
  readonly kind?: string;
  readonly limit: number;
  readonly after?: string;
}

interface ChangeOptions extends CommonOptions {
  readonly dryRun?: boolean;
}

interface RescheduleOptions extends ChangeOptions {
  readonly at?: Date;
  readonly in?: number;
}

/** Lists, shows, and moves timeouts. */
export function timeoutsCommand(cli: Cli): Command {
  const timeouts = new Command('timeouts').description('list, show, retry, and reschedule timeouts');
  for (const create of [listCommand, showCommand, retryCommand, rescheduleCommand]) timeouts.addCommand(create(cli));
  return timeouts;
}

function listCommand(cli: Cli): Command {
  const command = new Command('list')
    .description('count the timeouts of every kind, or list the pending ones of one kind')
    .option('--kind <kind>', 'list the pending timeouts of this kind by their keys')
    .option('--limit <count>', 'how many', parseCount, 100)
    .option('--after <key>', 'the last key of the previous page');
  return cli.does<[], ListOptions>(command, (options) =>
    cli.withUseCases(options, (context) => (options.kind ? listKind(context, options, options.kind) : counts(context))),
  );
}

async function counts(context: INestApplicationContext): Promise<Report> {
  const { dataSource, schema } = context.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS);
  const found = await countTimeouts(dataSource, schema);
  const rows = found.map(({ kind, pending, overdue, parked }) => [kind, pending, overdue, parked]);
  return { data: found, text: textTable(['kind', 'pending', 'overdue', 'parked'], rows) };
}

async function listKind(
  context: INestApplicationContext,
  { limit, after = '' }: ListOptions,
  kind: string,
): Promise<Report> {
  const found = await context.get(TimeoutScheduler).pending({ kind, limit, after });
  const rows = found.map((one) => [one.key, one.dueAt, one.nextAttemptAt, one.attempts, one.lastError]);
  return { data: found, text: textTable(['key', 'due', 'next attempt', 'failed runs', 'last error'], rows) };
}

function showCommand(cli: Cli): Command {
  const command = new Command('show').description('show one timeout').argument('<timeout>', 'kind/key', parseTimeout);
  return cli.does<[TimeoutRef], CommonOptions>(command, (options, ref) =>
    cli.withUseCases(options, async (context) => {
      const found = await find(context, ref);
      return { data: found, text: textPairs({ ...found, payload: JSON.stringify(found.payload) }) };
    }),
  );
}

function retryCommand(cli: Cli): Command {
  const command = new Command('retry')
    .description('make timeouts due now, parked ones too, and reset their failed runs')
    .argument('<timeouts...>', 'kind/key', collect(parseTimeout))
    .option('--dry-run', 'show them, and change nothing');
  return cli.does<[TimeoutRef[]], ChangeOptions>(command, (options, refs) =>
    cli.withUseCases(options, async (context) => {
      const found = await Promise.all(refs.map((ref) => find(context, ref)));
      if (!options.dryRun) await retry(context, found);
      return changed(found, 'due now', options.dryRun ?? false);
    }),
  );
}

async function retry(context: INestApplicationContext, found: readonly TimeoutRecord[]): Promise<void> {
  await context.get(ParkedTimeouts).replay(found.filter(({ state }) => state === 'parked'));
  const pending = found.filter(({ state }) => state === 'pending');
  await context
    .get(TimeoutScheduler)
    .schedule(pending.map(({ kind, key, payload }) => ({ kind, key, payload, afterMs: 0 })));
}

function rescheduleCommand(cli: Cli): Command {
  const command = new Command('reschedule')
    .description('give a timeout another time')
    .argument('<timeout>', 'kind/key', parseTimeout)
    .addOption(new Option('--at <instant>', 'such as 2026-03-01T12:00:00Z').argParser(parseInstant).conflicts('in'))
    .addOption(new Option('--in <duration>', 'from now, such as 30m').argParser(parseDuration))
    .option('--dry-run', 'show it, and change nothing');
  return cli.does<[TimeoutRef], RescheduleOptions>(command, (options, ref) =>
    cli.withUseCases(options, async (context) => {
      const { at: dueAt, in: afterMs } = options;
      refuse(ref, dueAt ?? afterMs);
      const found = await find(context, ref);
      const request = { ...ref, payload: found.payload, ...(dueAt ? { dueAt } : { afterMs: afterMs ?? 0 }) };
      if (!options.dryRun) await context.get(TimeoutScheduler).schedule([request]);
      return changed([found], 'rescheduled', options.dryRun ?? false);
    }),
  );
}

function refuse({ kind, key }: TimeoutRef, time: Date | number | undefined): void {
  if (time === undefined) throw new CommandRefusedError('give --at or --in');
  if (kind !== ORDER_PAYMENT && kind !== ORDER_REMINDER) return;
  throw new CommandRefusedError(
    `the time of ${kind} follows from the deadline of the order; run: order-timeout orders extend ${key.split(':')[0]}`,
  );
}

async function find(context: INestApplicationContext, ref: TimeoutRef): Promise<TimeoutRecord> {
  const found = await context.get(TimeoutScheduler).find(ref);
  if (found) return found;
  throw new CommandRefusedError(`there is no timeout ${nameOf(ref)}: it is done, was canceled, or never existed`);
}

function changed(found: readonly TimeoutRecord[], what: string, isDryRun: boolean): Report {
  const timeouts = found.map(({ kind, key, state }) => ({ kind, key, state }));
  const head = isDryRun ? `Would be ${what}. Nothing was changed.\n` : `${found.length} ${what}\n`;
  const rows = found.map(({ kind, key, state, dueAt, lastError }) => [kind, key, state, dueAt, lastError]);
  return {
    data: { dryRun: isDryRun, count: found.length, timeouts },
    text: `${head}\n${textTable(['kind', 'key', 'was', 'was due', 'last error'], rows)}`,
  };
}

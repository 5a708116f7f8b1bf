import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { ORDER_PAYMENT, ORDER_REMINDER, openAttemptProviders, Orders, Purge, type PurgeCounts } from '../../orders';
import {
  type Control,
  countTimeouts,
  ParkedTimeouts,
  readControls,
  type TimeoutRecord,
  type TimeoutRef,
  TimeoutScheduler,
  TimeoutEngine,
  TimeoutObservers,
} from '../../timeouts';
import { PaymentProviders } from '../../payments';
import { SystemClock } from '../../clock';
import { type Cli, type CommonOptions, CommandRefusedError, type Report, startProgress, targetOf } from '../cli';
import {
  collect,
  nameOf,
  parseCount,
  parseDuration,
  parseInstant,
  parseTimeout,
  textPairs,
  textTable,
} from '../arguments-and-tables';

interface ListOptions extends CommonOptions {
  readonly kind?: string;
  readonly limit: number;
  readonly after?: string;
}

interface RescheduleOptions extends CommonOptions {
  readonly at?: Date;
  readonly in?: number;
}

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
  return cli.acts<[], ListOptions>(command, (context, options) =>
    options.kind ? listKind(context, options, options.kind) : counts(context),
  );
}

async function counts(context: INestApplicationContext): Promise<Report> {
  const { dataSource, schema } = targetOf(context);
  const counted = await countTimeouts(dataSource, schema);
  const found = counted.map(({ kind, pending, overdue, parked }) => ({ kind, pending, overdue, parked }));
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
  return cli.acts<[TimeoutRef], CommonOptions>(command, async (context, options, ref) => {
    const found = await find(context, ref);
    return { data: found, text: textPairs({ ...found, payload: JSON.stringify(found.payload) }) };
  });
}

function retryCommand(cli: Cli): Command {
  const command = new Command('retry')
    .description('make timeouts due now, parked ones too, and reset their failed runs')
    .argument('<timeouts...>', 'kind/key', collect(parseTimeout))
    .option('--dry-run', 'show them, and change nothing');
  return cli.acts<[TimeoutRef[]], CommonOptions>(command, async (context, options, refs) => {
    const found = await Promise.all(refs.map((ref) => find(context, ref)));
    if (!options.dryRun) await retry(context, found);
    return changed(found, 'due now', options.dryRun ?? false);
  });
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
  return cli.acts<[TimeoutRef], RescheduleOptions>(command, async (context, options, ref) => {
    const { at: dueAt, in: afterMs } = options;
    refuse(ref, dueAt ?? afterMs);
    const found = await find(context, ref);
    const request = { ...ref, payload: found.payload, ...(dueAt ? { dueAt } : { afterMs: afterMs ?? 0 }) };
    if (!options.dryRun) await context.get(TimeoutScheduler).schedule([request]);
    return changed([found], 'rescheduled', options.dryRun ?? false);
  });
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

/** How the timeouts of one kind ended. */
type Outcomes = Map<string, Map<string, number>>;

export function sweepCommand(cli: Cli): Command {
  const command = new Command('sweep')
    .description('handle the overdue timeouts of orders and payments, in this process')
    .requiredOption('--once', 'one sweep; the service sweeps all the time')
    .option('--dry-run', 'count what is overdue, and change nothing');
  return cli.acts<[], CommonOptions>(command, async (context, options) => {
    const { dataSource, schema } = targetOf(context);
    const counted = await countTimeouts(dataSource, schema);
    const overdue = counted.filter(({ ready }) => ready > 0).map(({ kind, ready }) => ({ kind, overdue: ready }));
    const controls = await readControls(dataSource, schema);
    if (options.dryRun) return toReport(overdue, new Map(), controls, true);
    await refuseUnknownProviders(context);
    const outcomes = await sweep(cli, context, overdue);
    return toReport(overdue, outcomes, controls, false);
  });
}

/** In an application with providers in its code, this process has none: it would park every order with an attempt. */
async function refuseUnknownProviders(context: INestApplicationContext): Promise<void> {
  const { dataSource, schema } = targetOf(context);
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
  controls: ReadonlyMap<string, Control>,
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
  const paused = [...controls].flatMap(([subject, { pause }]) => (pause ? [{ subject, ...pause }] : []));
  const pauses = paused.map(
    ({ subject, by, reason }) =>
      `\n${subject.replace(':', ' ')} is paused by ${by} (${reason}): what needs it stays overdue until you resume it on the operator page\n`,
  );
  return {
    data: { dryRun: isDryRun, kinds, paused: paused.map(({ subject }) => subject) },
    text: head + textTable(['kind', 'overdue', 'outcomes'], rows) + pauses.join(''),
  };
}

interface RepublishOptions extends CommonOptions {
  readonly wait?: boolean;
  readonly patience: number;
}

/** Instances look every 10 s whether there is something to publish. */
const PATIENCE_MS = 60_000;

const LOOK_MS = 500;

export function republishCommand(cli: Cli): Command {
  const command = new Command('republish')
    .description('have the running instances publish the wake-ups of all pending timeouts again')
    .option('--wait', 'until they have done so')
    .option('--patience <duration>', 'with --wait: how long nothing may happen', parseDuration, PATIENCE_MS)
    .option('--dry-run', 'count the pending timeouts, and change nothing');
  return cli.acts<[], RepublishOptions>(command, async (context, options) => {
    const pending = await countPending(context);
    if (options.dryRun) {
      const text = `${pending} timeouts are pending. Nothing was changed.\n`;
      return { data: { dryRun: true, outcome: null, pending, published: null }, text };
    }
    const outcome = await context.get(TimeoutEngine).path.republish();
    const published = outcome === 'requested' && options.wait ? await wait(cli, context, pending, options) : null;
    const text = { requested: 'requested', off: 'off: the transport is none, so nothing is published' }[outcome];
    return {
      data: { dryRun: false, outcome, pending, published },
      text: published === null ? `${text}\n` : `published ${published} wake-ups again\n`,
    };
  });
}

async function countPending(context: INestApplicationContext): Promise<number> {
  const { dataSource, schema } = targetOf(context);
  const counts = await countTimeouts(dataSource, schema);
  return counts.reduce((sum, { pending }) => sum + pending, 0);
}

/** Returns how many wake-ups were published. */
async function wait(
  cli: Cli,
  context: INestApplicationContext,
  pending: number,
  options: RepublishOptions,
): Promise<number> {
  const clock = new SystemClock();
  const { path } = context.get(TimeoutEngine);
  const progress = startProgress(cli.terminal, 'wake-ups', pending);
  let [last, lastAt] = [-1, clock.monotonic()];
  for (;;) {
    const { isRunning, rows } = await path.republicationProgress();
    progress.at(rows);
    if (!isRunning) {
      progress.stop();
      return rows;
    }
    if (rows !== last) [last, lastAt] = [rows, clock.monotonic()];
    if (clock.monotonic() - lastAt > options.patience) {
      progress.stop();
      throw new CommandRefusedError(
        `no instance has published anything for ${options.patience / 1_000} s; start one, and it goes on after ${rows} wake-ups`,
      );
    }
    await clock.sleep(LOOK_MS);
  }
}

const KINDS = [
  ['orders', 'finished orders'],
  ['idempotencyKeys', 'idempotency keys'],
  ['settledMoney', 'settled unmatched payments'],
] as const;

const NOTHING = { orders: 0, idempotencyKeys: 0, settledMoney: 0 } satisfies PurgeCounts;

export function purgeCommand(cli: Cli): Command {
  const command = new Command('purge')
    .description('delete what has passed its retention (RETENTION_…); the service does so too')
    .option('--dry-run', 'count what is old enough, and delete nothing');
  return cli.acts<[], CommonOptions>(command, async (context, options) => {
    const old = await context.get(Purge).count();
    const purged = options.dryRun ? NOTHING : await purge(cli, context, sumOf(old));
    const rows = KINDS.map(([kind, name]) => [name, old[kind], purged[kind]]);
    const head = options.dryRun ? 'Nothing was deleted.\n\n' : '';
    return {
      data: { dryRun: options.dryRun ?? false, old, purged },
      text: head + textTable(['what', 'old enough', 'deleted'], rows),
    };
  });
}

async function purge(cli: Cli, context: INestApplicationContext, total: number): Promise<PurgeCounts> {
  const progress = startProgress(cli.terminal, 'rows', total);
  const purged = { ...NOTHING };
  for (let hasMore = true; hasMore;) {
    const run = await context.get(Orders).purge();
    for (const [kind] of KINDS) purged[kind] += run[kind];
    progress.at(sumOf(purged));
    hasMore = run.hasMore;
  }
  progress.stop();
  return purged;
}

function sumOf({ orders, idempotencyKeys, settledMoney }: PurgeCounts): number {
  return orders + idempotencyKeys + settledMoney;
}

import { type INestApplicationContext } from '@nestjs/common';
import { Command } from 'commander';
import { SystemClock } from '../../clock';
import { countTimeouts, RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutEngine } from '../../timeouts';
import { type Cli, type CommonOptions } from '../cli';
import { CommandRefusedError } from '../command-refused-error';
import { parseDuration } from '../parse-argument';
import { startProgress } from '../progress';

interface Options extends CommonOptions {
  readonly wait?: boolean;
  readonly patience: number;
  readonly dryRun?: boolean;
}

/** Instances look every 10 s whether there is something to publish. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 500;

/** Publishes the wake-ups of everything pending again. */
export function republishCommand(cli: Cli): Command {
  const command = new Command('republish')
    .description('have the running instances publish the wake-ups of all pending timeouts again')
    .option('--wait', 'until they have done so')
    .option('--patience <duration>', 'with --wait: how long nothing may happen', parseDuration, PATIENCE_MS)
    .option('--dry-run', 'count the pending timeouts, and change nothing');
  return cli.does<[], Options>(command, (options) =>
    cli.withUseCases(options, async (context) => {
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
    }),
  );
}

async function countPending(context: INestApplicationContext): Promise<number> {
  const { dataSource, schema } = context.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS);
  const counts = await countTimeouts(dataSource, schema);
  return counts.reduce((sum, { pending }) => sum + pending, 0);
}

/** Returns how many wake-ups were published. */
async function wait(cli: Cli, context: INestApplicationContext, pending: number, options: Options): Promise<number> {
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

import { type INestApplicationContext } from '@nestjs/common';
import { Command } from 'commander';
import { Orders, Purge, type PurgeCounts } from '../../orders';
import { type Cli, type CommonOptions } from '../cli';
import { startProgress } from '../progress';
import { textTable } from '../text-table';

interface Options extends CommonOptions {
  readonly dryRun?: boolean;
}

const KINDS = [
  ['orders', 'finished orders'],
  ['idempotencyKeys', 'idempotency keys'],
  ['settledMoney', 'settled unmatched payments'],
] as const;
const NOTHING: PurgeCounts = { orders: 0, idempotencyKeys: 0, settledMoney: 0 };

/** Deletes what has passed its retention. */
export function purgeCommand(cli: Cli): Command {
  const command = new Command('purge')
    .description('delete what has passed its retention (RETENTION_…); the service does so too')
    .option('--dry-run', 'count what is old enough, and delete nothing');
  return cli.does<[], Options>(command, (options) =>
    cli.withUseCases(options, async (context) => {
      const old = await context.get(Purge).count();
      const purged = options.dryRun ? NOTHING : await purge(cli, context, sumOf(old));
      const rows = KINDS.map(([kind, name]) => [name, old[kind], purged[kind]]);
      const head = options.dryRun ? 'Nothing was deleted.\n\n' : '';
      return {
        data: { dryRun: options.dryRun ?? false, old, purged },
        text: head + textTable(['what', 'old enough', 'deleted'], rows),
      };
    }),
  );
}

async function purge(cli: Cli, context: INestApplicationContext, total: number): Promise<PurgeCounts> {
  const progress = startProgress(cli.terminal, 'rows', total);
  let purged = NOTHING;
  for (let hasMore = true; hasMore;) {
    const run = await context.get(Orders).purge();
    purged = {
      orders: purged.orders + run.orders,
      idempotencyKeys: purged.idempotencyKeys + run.idempotencyKeys,
      settledMoney: purged.settledMoney + run.settledMoney,
    };
    progress.at(sumOf(purged));
    hasMore = run.hasMore;
  }
  progress.stop();
  return purged;
}

function sumOf({ orders, idempotencyKeys, settledMoney }: PurgeCounts): number {
  return orders + idempotencyKeys + settledMoney;
}

import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import { type EntityManager } from 'typeorm';
import { accepted, notFound } from '../../api/input';
import { rehearse } from '../../database';
import {
  encodePosition,
  type HistoryEntry,
  LIMITS,
  ORDER_STATUSES,
  Orders,
  type OrderStatus,
  type OrderView,
} from '../../orders';
import { type Cli, type CommonOptions, type Report, targetOf } from '../cli';
import { parseCount, parseDuration, parseInstant, textPairs, textTable } from '../arguments-and-tables';

interface ListOptions extends CommonOptions {
  readonly status?: OrderStatus;
  readonly merchant?: string;
  readonly limit: number;
  readonly after?: string;
}

interface ActOptions extends CommonOptions {
  readonly actor: string;
  readonly reason?: string;
}

interface ExtendOptions extends ActOptions {
  readonly by?: number;
  readonly to?: Date;
}

interface CloseOptions extends ActOptions {
  readonly reason: string;
  readonly attemptsAreClosed?: boolean;
}

type Outcome = { readonly outcome: string };

export function ordersCommand(cli: Cli): Command {
  const orders = new Command('orders').description('list, show, and change orders');
  for (const create of [listCommand, showCommand, extendCommand, cancelCommand, closeCommand]) {
    orders.addCommand(create(cli));
  }
  return orders;
}

function listCommand(cli: Cli): Command {
  const command = new Command('list')
    .description('list orders, newest first')
    .addOption(new Option('--status <status>', 'only orders in this status').choices(ORDER_STATUSES))
    .option('--merchant <id>', 'only orders of this merchant')
    .option('--limit <count>', 'how many', parseCount, 100)
    .option('--after <id>', 'the last id of the previous page');
  return cli.acts<[], ListOptions>(command, async (context, options) => {
    const found = await listOrders(context.get(Orders), options);
    const rows = found.map((one) => [one.id, one.merchantId, one.status, one.amount, one.currency, one.expiresAt]);
    const data = found.map(({ id, merchantId, status, amount, currency, expiresAt, createdAt }) => {
      return { id, merchantId, status, amount, currency, expiresAt, createdAt };
    });
    return { data, text: textTable(['id', 'merchant', 'status', 'amount', 'currency', 'deadline'], rows) };
  });
}

/** As many as wanted: a page has a limit of its own, and may end early. */
async function listOrders(orders: Orders, { status, merchant: merchantId, limit, after }: ListOptions) {
  const filter = { status: status && [status], merchantId };
  let found: readonly OrderView[] = [];
  for (let cursor = await cursorAfter(orders, after); ;) {
    const page = await orders.list({ ...filter, cursor, limit: Math.min(limit - found.length, LIMITS.page) });
    found = found.concat(page.orders);
    if (page.next === null || found.length >= limit) return found;
    cursor = page.next;
  }
}

async function cursorAfter(orders: Orders, id: string | undefined): Promise<string | undefined> {
  if (id === undefined) return undefined;
  const order = await orders.get(id);
  if (!order) throw notFound(id);
  return encodePosition(order);
}

function showCommand(cli: Cli): Command {
  const command = new Command('show').description('show an order and its history').argument('<id>');
  return cli.acts<[string], CommonOptions>(command, async (context, options, id) => {
    const orders = context.get(Orders);
    const order = await orders.get(id);
    if (!order) throw notFound(id);
    const history = await orders.history(id);
    return { data: { order, history }, text: `${textOf(order)}\n${historyOf(history)}` };
  });
}

function extendCommand(cli: Cli): Command {
  const command = new Command('extend')
    .description('move the deadline of a PENDING order')
    .argument('<id>')
    .addOption(
      new Option('--by <duration>', 'from the current deadline, such as 30m or -5m')
        .argParser(parseDuration)
        .conflicts('to'),
    )
    .addOption(new Option('--to <instant>', 'the new deadline, such as 2026-03-01T12:00:00Z').argParser(parseInstant));
  return act<ExtendOptions>(cli, command, (orders, orderId, { by: byMs, to: expiresAt, reason, actor }, tx) =>
    orders.extendDeadline({ orderId, byMs, expiresAt, reason }, { by: { cause: 'operator', actor }, tx }),
  );
}

function cancelCommand(cli: Cli): Command {
  const command = new Command('cancel').description('cancel an order for its buyer').argument('<id>');
  return act<ActOptions>(cli, command, (orders, orderId, { reason, actor }, tx) =>
    orders.cancel({ orderId, reason }, { by: { cause: 'operator', actor }, tx }),
  );
}

function closeCommand(cli: Cli): Command {
  const command = new Command('close')
    .description('close an unpaid order now')
    .argument('<id>')
    .option('--attempts-are-closed', 'you have checked at the providers that no attempt can be paid');
  return act<CloseOptions>(cli, command, (orders, orderId, { reason, actor, attemptsAreClosed }, tx) =>
    orders.close({ orderId, reason: reason ?? 'closed on the command line', attemptsAreClosed }, { by: { actor }, tx }),
  );
}

/** A change of one order. `--dry-run` rolls it back. */
function act<O extends ActOptions>(
  cli: Cli,
  command: Command,
  change: (orders: Orders, id: string, options: O, tx?: EntityManager) => Promise<Outcome>,
): Command {
  command
    .option('--reason <text>', 'for the history of the order')
    .option('--actor <name>', 'who does it, for the history', `cli:${userName()}`)
    .option('--dry-run', 'show what would happen, and change nothing');
  return cli.acts<[string], O>(command, async (context, options, id) => {
    const orders = context.get(Orders);
    const result = options.dryRun
      ? await rehearse(targetOf(context).dataSource, (tx) => change(orders, id, options, tx))
      : await change(orders, id, options);
    return outcomeOf(id, result, options.dryRun ?? false);
  });
}

function outcomeOf(id: string, result: Outcome, isDryRun: boolean): Report {
  const { outcome, order } = accepted(id, result) as Outcome & { readonly order: OrderView };
  const head = isDryRun ? `Would be: ${outcome}. Nothing was changed.\n` : `${outcome}\n`;
  return { data: { outcome, dryRun: isDryRun, order }, text: `${head}\n${textOf(order)}` };
}

function textOf(order: OrderView): string {
  const { lines, attempts, metadata, ...plain } = order;
  const facts = textPairs({ ...plain, metadata: metadata && JSON.stringify(metadata) });
  const goods = textTable(
    ['sku', 'quantity', 'unit amount'],
    lines.map(({ sku, quantity, unitAmount }) => [sku, quantity, unitAmount]),
  );
  const payments = textTable(
    ['provider', 'reference', 'status', 'amount', 'paid'],
    attempts.map((one) => [one.provider, one.reference, one.status, one.amount, one.paidAmount]),
  );
  return [facts, ...(lines.length > 0 ? [goods] : []), ...(attempts.length > 0 ? [payments] : [])].join('\n');
}

function historyOf(history: readonly HistoryEntry[]): string {
  const rows = history.map((one) => [one.version, one.from, one.to, one.cause, one.actor, one.reason, one.occurredAt]);
  return textTable(['version', 'from', 'to', 'cause', 'actor', 'reason', 'when'], rows);
}

/** A container may have a user id without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

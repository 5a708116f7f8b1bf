import { Argument, Command } from 'commander';
import { type INestApplicationContext } from '@nestjs/common';
import { ORDER_PAYMENT } from '../../orders';
import { ParkedRows } from '../../outbox';
import { type ParkedMessage, ParkedMessages, RabbitClient } from '../../rabbit';
import { ParkedTimeouts, type TimeoutRef } from '../../timeouts';
import { messageOf } from '../../errors';
import { type Cli, type CommonOptions, CommandRefusedError, EXIT, startProgress, type Report, targetOf } from '../cli';
import { parseCount, textTable, nameOf, parseTimeout } from '../arguments-and-tables';

interface ListOptions extends CommonOptions {
  readonly about?: string;
  readonly limit: number;
}

interface ChangeOptions extends CommonOptions {
  readonly all?: boolean;
  readonly about?: string;
  readonly force?: boolean;
}

type Action = 'retry' | 'discard';

const DONE = { retry: 'retried', discard: 'discarded' } as const;

export function parkedCommand(cli: Cli): Command {
  const parked = new Command('parked').description('list, retry, and discard parked timeouts and messages');
  parked.addCommand(listCommand(cli));
  parked.addCommand(changeCommand(cli, 'retry', 'let them run or be sent again; remove the cause first'));
  parked.addCommand(changeCommand(cli, 'discard', 'delete them for good, without their effect'));
  return parked;
}

function listCommand(cli: Cli): Command {
  const command = new Command('list')
    .description('list what is parked, and why')
    .addArgument(new Argument('[place]', 'where; without it, everywhere').choices(PARKED_PLACES))
    .option('--about <name>', 'only this kind, command, or event')
    .option('--limit <count>', 'how many of each place', parseCount, 100);
  return cli.acts<[ParkedPlace | undefined], ListOptions>(command, async (context, options, place) => {
    const lists: PlaceList[] = [];
    for (const each of place ? [place] : PARKED_PLACES) {
      const listing = listPlace(context, each, options);
      lists.push(
        await (place ? listing : listing.catch((error: unknown) => ({ place: each, failure: messageOf(error) }))),
      );
    }
    return listReport(lists);
  });
}

/** What is parked at a place, or why it cannot be listed. */
type PlaceList =
  | { readonly place: ParkedPlace; readonly entries: readonly ParkedEntry[]; readonly count: string }
  | { readonly place: ParkedPlace; readonly failure: string };

async function listPlace(
  context: INestApplicationContext,
  place: ParkedPlace,
  { limit, about }: ListOptions,
): Promise<PlaceList> {
  if (place === 'messages' && !context.get(RabbitClient).isConfigured)
    return { place, entries: [], count: '0 (no broker is configured)' };
  // One more, to see whether there are more.
  const found = await withParkedStore(context, place, (store) => listAll(store, limit + 1, about));
  const count = found.length > limit ? `the first ${limit}; --limit shows more` : String(found.length);
  return { place, entries: found.slice(0, limit), count };
}

/** A place that cannot be listed, for example without the broker, must not hide the others. */
function listReport(lists: readonly PlaceList[]): Report {
  const data: Record<string, object> = {};
  const failed: Record<string, string> = {};
  const texts = lists.map((list) => {
    if ('failure' in list) {
      failed[list.place] = list.failure;
      return `${list.place}: cannot be listed: ${list.failure}\n`;
    }
    data[list.place] = list.entries.map(({ details }) => details);
    return `${list.place}: ${list.count}\n${tableOf(list.entries)}`;
  });
  const isComplete = Object.keys(failed).length === 0;
  return {
    data: { ...data, ...(isComplete ? {} : { failed }) },
    text: texts.join('\n'),
    exitCode: isComplete ? EXIT.ok : EXIT.failed,
  };
}

function changeCommand(cli: Cli, action: Action, description: string): Command {
  const command = new Command(action)
    .description(description)
    .addArgument(new Argument('<place>', 'where').choices(PARKED_PLACES))
    .argument('[ids...]', 'as the list shows them')
    .option('--all', 'everything that is parked there')
    .option('--about <name>', 'with --all: only this kind, command, or event')
    .option('--dry-run', 'show them, and change nothing');
  if (action === 'discard') command.option('--force', `also timeouts of ${ORDER_PAYMENT}, whose orders then stay open`);
  return cli.acts<[ParkedPlace, string[]], ChangeOptions>(command, (context, options, place, ids) =>
    change(cli, context, { action, place, ids, options }),
  );
}

interface Change {
  readonly action: Action;
  readonly place: ParkedPlace;
  readonly ids: readonly string[];
  readonly options: ChangeOptions;
}

function change(cli: Cli, context: INestApplicationContext, { action, place, ids, options }: Change): Promise<Report> {
  if (ids.length > 0 === (options.all ?? false)) throw new CommandRefusedError('name what you mean, or give --all');
  return withParkedStore(context, place, async (store) => {
    const parked = await listAll(store, Infinity, options.about);
    const found = options.all ? parked : named(ids, parked, place);
    if (action === 'discard' && !options.force) refuseOrders(place, found);
    if (options.dryRun) return toReport(action, place, found, undefined);
    const progress = startProgress(cli.terminal, place, found.length);
    let count = 0;
    for (let from = 0; from < found.length; from += store.pageSize) {
      count += await store[action](found.slice(from, from + store.pageSize).map(({ id }) => id));
      progress.at(from + store.pageSize);
    }
    progress.stop();
    return toReport(action, place, found, count);
  });
}

/** A mistyped id must not look like work that is done. */
function named(ids: readonly string[], parked: readonly ParkedEntry[], place: ParkedPlace): ParkedEntry[] {
  const known = new Set(parked.map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length === 0) return parked.filter(({ id }) => ids.includes(id));
  throw new CommandRefusedError(
    `not parked there: ${unknown.join(', ')}; nothing was changed, see order-timeout parked list ${place}`,
  );
}

/** Nothing else would ever close these orders, or release their stock. */
function refuseOrders(place: ParkedPlace, found: readonly ParkedEntry[]): void {
  const orders = found.filter(({ about }) => place === 'timeouts' && about === ORDER_PAYMENT);
  if (orders.length === 0) return;
  throw new CommandRefusedError(
    `without ${orders
      .map(({ id }) => id)
      .slice(0, 3)
      .join(', ')}, nothing would close the order or release its stock; close ` +
      'it with order-timeout orders close, or give --force',
  );
}

async function listAll(store: ParkedStore, limit: number, about: string | undefined): Promise<ParkedEntry[]> {
  const size = about === undefined ? Math.min(limit, store.pageSize) : store.pageSize;
  let found: ParkedEntry[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.list(size, after);
    found = found.concat(page.filter((entry) => about === undefined || entry.about === about));
    after = page.at(-1)?.id;
    if (page.length < size || found.length >= limit) return found.slice(0, limit);
  }
}

function toReport(
  action: Action,
  place: ParkedPlace,
  found: readonly ParkedEntry[],
  count: number | undefined,
): Report {
  const isDryRun = count === undefined;
  const head = isDryRun ? `Would be ${DONE[action]}. Nothing was changed.` : `${count} ${DONE[action]}`;
  return {
    data: { place, dryRun: isDryRun, count: count ?? found.length, ids: found.map(({ id }) => id) },
    text: `${head}\n\n${tableOf(found)}`,
  };
}

function tableOf(entries: readonly ParkedEntry[]): string {
  return textTable(
    ['id', 'about', 'reason'],
    entries.map(({ id, about, reason }) => [id, about, reason]),
  );
}

/** Where something can be parked: `timeouts` and `outbox` in the database, `messages` on the broker. */
const PARKED_PLACES = ['timeouts', 'messages', 'outbox'] as const;

type ParkedPlace = (typeof PARKED_PLACES)[number];

const PAGE_SIZE = 500;

interface ParkedEntry {
  /** By which it is retried or discarded. */
  readonly id: string;
  /** A kind of timeouts, a command, or an event. */
  readonly about: string;
  readonly reason: string | null;
  readonly details: object;
}

interface ParkedStore {
  /** How many are listed or changed by one call. The queue of messages has no pages: a call takes all of it. */
  readonly pageSize: number;
  /** @param after the id of the last entry of the previous page */
  list(limit: number, after?: string): Promise<readonly ParkedEntry[]>;
  /** Returns how many were parked. */
  retry(ids: readonly string[]): Promise<number>;
  /** Returns how many were parked. */
  discard(ids: readonly string[]): Promise<number>;
}

async function withParkedStore<T>(
  context: INestApplicationContext,
  place: ParkedPlace,
  work: (store: ParkedStore) => Promise<T>,
): Promise<T> {
  if (place === 'timeouts') return work(timeoutStore(context.get(ParkedTimeouts)));
  if (place === 'outbox') {
    const { dataSource, schema } = targetOf(context);
    return work(outboxStore(new ParkedRows(dataSource, schema)));
  }
  const client = context.get(RabbitClient);
  return client.onTemporaryConnection((connection) => work(messageStore(new ParkedMessages(connection, client.names))));
}

function timeoutStore(parked: ParkedTimeouts): ParkedStore {
  const refs = (ids: readonly string[]): TimeoutRef[] => ids.map(parseTimeout);
  return {
    pageSize: PAGE_SIZE,
    list: async (limit, after) => {
      const found = await parked.list({ limit, ...(after === undefined ? {} : { after: parseTimeout(after) }) });
      return found.map((one) => ({ id: nameOf(one), about: one.kind, reason: one.lastError, details: one }));
    },
    retry: (ids) => parked.replay(refs(ids)),
    discard: (ids) => parked.discard(refs(ids)),
  };
}

function outboxStore(rows: ParkedRows): ParkedStore {
  return {
    pageSize: PAGE_SIZE,
    list: async (limit, after) => {
      const found = await rows.list({ limit, ...(after === undefined ? {} : { after }) });
      return found.map((one) => ({ id: one.id, about: one.routingKey, reason: one.reason, details: one }));
    },
    retry: (ids) => rows.retry(ids),
    discard: (ids) => rows.discard(ids),
  };
}

function messageStore(messages: ParkedMessages): ParkedStore {
  return {
    pageSize: Infinity,
    list: async (limit) => {
      const found = await messages.list(limit);
      const why = ({ code, reason, remedy }: ParkedMessage): string =>
        code ? `${code}: ${reason}; ${remedy}` : (reason ?? remedy);
      return found.map((one) => ({ id: one.id, about: one.routingKey, reason: why(one), details: one }));
    },
    retry: (ids) => messages.retry(ids),
    discard: (ids) => messages.discard(ids),
  };
}

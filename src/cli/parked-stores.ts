import { type INestApplicationContext } from '@nestjs/common';
import { ParkedRows } from '../outbox';
import { type ChannelModel, ParkedMessages, RabbitClient } from '../rabbit';
import { ParkedTimeouts, RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, type TimeoutRef } from '../timeouts';
import { nameOf, parseTimeout } from './parse-argument';

/** Where something can be parked: `timeouts` and `outbox` in the database, `messages` on the broker. */
export const PARKED_PLACES = ['timeouts', 'messages', 'outbox'] as const;

export type ParkedPlace = (typeof PARKED_PLACES)[number];

const PAGE_SIZE = 500;

/** Something that is parked. */
export interface ParkedEntry {
  /** By which it is retried or discarded. */
  readonly id: string;
  /** A kind of timeouts, a command, or an event. */
  readonly about: string;
  readonly reason: string | null;
  /** Everything that is known about it. */
  readonly details: object;
}

/** What is parked at one place. */
export interface ParkedStore {
  /** How many are listed or changed by one call. The queue of messages has no pages: a call takes all of it. */
  readonly pageSize: number;
  /** @param after the id of the last entry of the previous page */
  list(limit: number, after?: string): Promise<readonly ParkedEntry[]>;
  /** Returns how many were parked. */
  retry(ids: readonly string[]): Promise<number>;
  /** Returns how many were parked. */
  discard(ids: readonly string[]): Promise<number>;
}

/** Runs `work` on a place. */
export async function withParkedStore<T>(
  context: INestApplicationContext,
  place: ParkedPlace,
  work: (store: ParkedStore) => Promise<T>,
): Promise<T> {
  if (place === 'timeouts') return work(timeoutStore(context.get(ParkedTimeouts)));
  if (place === 'outbox') {
    const { dataSource, schema } = context.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS);
    return work(outboxStore(new ParkedRows(dataSource, schema)));
  }
  const client = context.get(RabbitClient);
  const connection: ChannelModel = await client.temporaryConnection();
  try {
    return await work(messageStore(new ParkedMessages(connection, client.names)));
  } finally {
    await connection.close().catch(() => undefined);
  }
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
      const why = (code: string | null, reason: string | null): string | null => (code ? `${code}: ${reason}` : reason);
      return found.map((one) => ({
        ...{ id: one.id, about: one.routingKey, reason: why(one.code, one.reason), details: one },
      }));
    },
    retry: (ids) => messages.retry(ids),
    discard: (ids) => messages.discard(ids),
  };
}

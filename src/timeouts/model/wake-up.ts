import { z } from 'zod';
import { type DelayTransport } from '../../delay';
import { type ClaimedRow, messageOf } from '../../outbox';
import { type Publication } from '../../rabbit';
import { type TimeoutCause } from './timeout';
import { type LockedRow } from './outcomes';

/** Generations are PostgreSQL bigints; a larger number would fail every batch that it is part of. */
const MAX_GENERATION = 2n ** 63n - 1n;

const storable = (text: string): boolean => !text.includes('\0');

/** What travels through the broker: ids only, never data. */
const wireSchema = z.object({
  kind: z.string().min(1).max(100),
  key: z.string().min(1).max(200).refine(storable, 'must not contain NUL'),
  generation: z
    .string()
    .regex(/^\d{1,19}$/)
    .refine((digits) => !/^\d{1,19}$/.test(digits) || BigInt(digits) <= MAX_GENERATION, 'is too large'),
  dueAt: z.number().int(),
});

/** A hint that a timeout may be due. */
export interface WakeUp {
  readonly key: string;
  /** Only this generation is meant; null: whichever is pending (asked for by a person or a read). */
  readonly generation: string | null;
  /** Epoch milliseconds by the database's clock. */
  readonly dueAtMs: number;
  readonly cause: TimeoutCause;
  /** The broker has delivered it before: the process that was asking about the timeout may be gone. */
  readonly isRedelivered?: boolean;
}

type DecodedWakeUp =
  | { readonly type: 'wake-up'; readonly kind: string; readonly wakeUp: WakeUp }
  | { readonly type: 'invalid'; readonly reason: string };

/** Reads a delivery's body. Never throws: what cannot be read is parked with the reason. */
export function decodeWakeUp(body: Buffer): DecodedWakeUp {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return { type: 'invalid', reason: 'the body is not JSON' };
  }
  const parsed = wireSchema.safeParse(json);
  if (!parsed.success) return { type: 'invalid', reason: z.prettifyError(parsed.error) };
  const { kind, key, generation, dueAt } = parsed.data;
  return { type: 'wake-up', kind, wakeUp: { key, generation, dueAtMs: dueAt, cause: 'message' } };
}

/**
 * Keys and generations to lock, without repetition: duplicate messages, or a read that wakes what a message is
 * about to, must not make the engine handle a row twice in one batch.
 */
export function identitiesOf(wakeUps: readonly WakeUp[]): { keys: string[]; generations: (string | null)[] } {
  const anyGeneration = new Set(wakeUps.filter(({ generation }) => generation === null).map(({ key }) => key));
  const distinct = new Map<string, [string, string | null]>();
  for (const { key, generation } of wakeUps) {
    const wanted = anyGeneration.has(key) ? null : generation;
    distinct.set(`${wanted ?? '*'} ${key}`, [key, wanted]);
  }
  const pairs = [...distinct.values()];
  return { keys: pairs.map(([key]) => key), generations: pairs.map(([, generation]) => generation) };
}

/**
 * How a wake-up ended. `finished`: what it led to is committed, or there was nothing to do.
 * `unwritten`: nothing could be written, so its source must keep it and try again.
 */
export type WakeUpResult = 'finished' | 'unwritten';

/** A wake-up in progress. `finish` tells its source how it ended. */
export interface WorkItem {
  readonly wakeUp: WakeUp;
  finish(result: WakeUpResult): void;
}

/** A row that was found in the table. It has no delivery to acknowledge, so `finish` does nothing. */
export function overdueItem(row: LockedRow, cause: TimeoutCause): WorkItem {
  const { key, generation } = row;
  return { wakeUp: { key, generation, dueAtMs: row.due_at.getTime(), cause }, finish: () => undefined };
}

/**
 * Wake-ups are to arrive so much before they are due; the consumer holds them. What the broker needs for its hops, and we
 * for the hundreds that a delay queue hands out at once, is no lateness then (500 orders/s by the ladder: p99 76 ms without).
 */
export const HEAD_START_MS = 200;

/** The message of one wake-up that is due in `remainingMs` milliseconds. */
export function routeWakeUp(transport: DelayTransport, row: ClaimedRow, remainingMs: number): Publication {
  const route = transport.route(row.routing_key, remainingMs - HEAD_START_MS);
  const message = messageOf(row);
  return { ...message, ...route, headers: { ...route.headers, ...message.headers } };
}

import { type ApiClient } from '../api/api-client';
import { type ParkedGroup, type ParkedTimeout, type TimeoutRef } from '../api/attention-contract';
import { type ManyProgress, partsOf, runMany } from '../bulk/run-many';

/** `extend` and `close` act on the orders of the timeouts; the others on the timeouts themselves. */
export type ParkedAction = 'replay' | 'reschedule' | 'extend' | 'close' | 'discard';

/** All timeouts of a group, or some that were chosen. */
export type ParkedChoice = { readonly group: ParkedGroup } | { readonly timeouts: readonly TimeoutRef[] };

export interface ParkedChange {
  readonly action: ParkedAction;
  readonly choice: ParkedChoice;
  readonly reason: string;
  /** Milliseconds from now: when to try again, or the new deadline. Only of `reschedule` and `extend`. */
  readonly afterMs?: number | undefined;
  /** The time of the service. */
  readonly nowMs: number;
}

type Api = Pick<ApiClient, 'get' | 'post'>;

const CHUNK = 200;

export function sizeOf(choice: ParkedChoice): number {
  return 'group' in choice ? choice.group.count : choice.timeouts.length;
}

/** Pure: what can be done with parked timeouts of this kind. The payment deadline has its order as its key. */
export function parkedActionsFor(kind: string): ParkedAction[] {
  const ofOrder: ParkedAction[] = kind === 'order.payment' ? ['extend', 'close'] : [];
  return ['replay', 'reschedule', ...ofOrder, 'discard'];
}

/** Does with all that were chosen what the operator wants, in parts. It may be stopped between two of them. */
export function changeParked(
  api: Api,
  change: ParkedChange,
  onProgress: (progress: ManyProgress) => void,
  signal: AbortSignal,
): Promise<ManyProgress> {
  const { action, choice } = change;
  const parts = 'group' in choice ? pagesOf(api, choice.group) : partsOf(choice.timeouts, CHUNK);
  if (action === 'extend' || action === 'close') {
    return runMany(onePerPart(parts), ([timeout]) => changeOrder(api, change, timeout), onProgress, signal);
  }
  return runMany(parts, (part) => changeTimeouts(api, change, part), onProgress, signal);
}

async function changeTimeouts(api: Api, change: ParkedChange, part: readonly TimeoutRef[]): Promise<number> {
  const { action, reason, afterMs } = change;
  const timeouts = part.map(({ kind, key }) => ({ kind, key }));
  const more = action === 'reschedule' ? { afterMs } : {};
  return (await api.post<{ count: number }>(`parked-timeouts/${action}`, { timeouts, reason, ...more })).count;
}

async function changeOrder(api: Api, change: ParkedChange, timeout: TimeoutRef | undefined): Promise<number> {
  if (!timeout) return 0;
  const { action, reason, afterMs = 0, nowMs } = change;
  const more = action === 'extend' ? { expiresAt: new Date(nowMs + afterMs).toISOString() } : {};
  await api.post(`orders/${encodeURIComponent(timeout.key)}/${action}`, { reason, ...more });
  return 1;
}

async function* onePerPart<T>(
  parts: Iterable<readonly T[]> | AsyncIterable<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  for await (const part of parts) yield* partsOf(part, 1);
}

/** Page by page, beginning after the last one: what was replayed may be parked again meanwhile. */
async function* pagesOf(api: Api, { kind, reason }: ParkedGroup): AsyncGenerator<readonly ParkedTimeout[]> {
  let last: ParkedTimeout | undefined;
  do {
    const after = { afterKind: last?.kind, afterKey: last?.key };
    const page = await api.get<ParkedTimeout[]>('parked-timeouts', { kind, reason, ...after, limit: CHUNK });
    if (page.length > 0) yield page;
    last = page.length < CHUNK ? undefined : page.at(-1);
  } while (last);
}

import { type ApiClient } from '../api/api-client';
import { type ParkedGroup, type ParkedTimeout, type TimeoutRef } from '../api/attention-contract';

export type ParkedAction = 'replay' | 'discard';

/** All timeouts of a group, or some that were chosen. */
export type ParkedChoice = { readonly group: ParkedGroup } | { readonly timeouts: readonly TimeoutRef[] };

export interface ParkedProgress {
  readonly done: number;
  /** How many were changed; others were not parked anymore. */
  readonly changed: number;
}

type Api = Pick<ApiClient, 'get' | 'post'>;

const CHUNK = 200;

export function sizeOf(choice: ParkedChoice): number {
  return 'group' in choice ? choice.group.count : choice.timeouts.length;
}

/** Replays or discards what was chosen, in parts. It may be stopped between two of them. */
export async function changeParked(
  api: Api,
  action: ParkedAction,
  choice: ParkedChoice,
  reason: string,
  onProgress: (progress: ParkedProgress) => void,
  signal: AbortSignal,
): Promise<ParkedProgress> {
  let progress: ParkedProgress = { done: 0, changed: 0 };
  for await (const part of 'group' in choice ? partsOfGroup(api, choice.group) : partsOf(choice.timeouts)) {
    if (signal.aborted) break;
    const timeouts = part.map(({ kind, key }) => ({ kind, key }));
    const { count } = await api.post<{ count: number }>(`parked-timeouts/${action}`, { timeouts, reason });
    progress = { done: progress.done + part.length, changed: progress.changed + count };
    onProgress(progress);
  }
  return progress;
}

function* partsOf(timeouts: readonly TimeoutRef[]): Generator<readonly TimeoutRef[]> {
  for (let at = 0; at < timeouts.length; at += CHUNK) yield timeouts.slice(at, at + CHUNK);
}

/** Page by page, beginning after the last one: what was replayed may be parked again meanwhile. */
async function* partsOfGroup(api: Api, { kind, reason }: ParkedGroup): AsyncGenerator<readonly ParkedTimeout[]> {
  let last: ParkedTimeout | undefined;
  do {
    const after = { afterKind: last?.kind, afterKey: last?.key };
    const page = await api.get<ParkedTimeout[]>('parked-timeouts', { kind, reason, ...after, limit: CHUNK });
    if (page.length > 0) yield page;
    last = page.length < CHUNK ? undefined : page.at(-1);
  } while (last);
}

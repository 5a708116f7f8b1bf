import { type Inputs, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, toProblem } from '../api/api-problem';
import { useApp } from '../session/app-context';
import { Poller, type Timers } from './poller';

/** What a view shows of its poll. */
export interface Poll<T> {
  /** The newest answer, also while a later load fails; undefined: none came yet. */
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  /** Loads now, for example after an action. */
  readonly refresh: () => void;
}

const timers: Timers = {
  set: (run, ms) => window.setTimeout(run, ms),
  clear: (timer) => window.clearTimeout(timer as number | undefined),
};

/**
 * Loads again and again while the page is visible.
 *
 * @param inputs what `load` depends on: if it changes, what was loaded before is dropped
 */
export function usePoll<T>(load: (signal: AbortSignal) => Promise<T>, intervalMs: number, inputs: Inputs): Poll<T> {
  const { polls } = useApp();
  const [shown, show] = useState<{ data?: T; problem?: ApiProblem }>({});
  const poller = useRef<Poller | undefined>(undefined);

  useEffect(() => show({}), inputs);
  useEffect(() => {
    const key = {};
    let loadedAt: number | undefined;
    const loadOnce = async (signal: AbortSignal): Promise<void> => {
      const data = await load(signal);
      if (signal.aborted) return;
      loadedAt = Date.now();
      show({ data });
      polls.note(key, { loadedAt, problem: undefined, retryAt: undefined });
    };
    const fail = (error: unknown, retryInMs: number): void => {
      const problem = toProblem(error);
      show((before) => ({ ...before, problem }));
      polls.note(key, { loadedAt, problem, retryAt: Date.now() + retryInMs });
    };
    const mine = new Poller({ load: loadOnce, intervalMs, timers, onError: fail });
    const follow = (): void => (document.hidden ? mine.rest() : mine.wake());
    poller.current = mine;
    polls.join(key, () => void mine.refresh());
    document.addEventListener('visibilitychange', follow);
    void mine.refresh().then(follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      mine.stop();
      polls.leave(key);
    };
  }, [...inputs, intervalMs]);

  return { data: shown.data, problem: shown.problem, refresh: () => void poller.current?.refresh() };
}

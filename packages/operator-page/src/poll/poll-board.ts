import { type ApiProblem } from '../api/api-problem';

/** How the loads of the view go. */
export interface PollState {
  /** When the last load succeeded, in milliseconds; undefined: none did yet. */
  readonly loadedAt: number | undefined;
  readonly problem: ApiProblem | undefined;
  /** When the next try begins after a failure, in milliseconds. */
  readonly retryAt: number | undefined;
}

export const NOT_LOADED: PollState = { loadedAt: undefined, problem: undefined, retryAt: undefined };

interface Entry {
  state: PollState;
  readonly refresh: () => void;
}

/** All polls of the page, so that one place can show how they go, and one key refreshes them. */
export class PollBoard {
  private readonly entries = new Map<object, Entry>();
  private readonly listeners = new Set<() => void>();

  join(key: object, refresh: () => void): void {
    this.entries.set(key, { state: NOT_LOADED, refresh });
    this.tell();
  }

  leave(key: object): void {
    this.entries.delete(key);
    this.tell();
  }

  note(key: object, state: PollState): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    entry.state = state;
    this.tell();
  }

  refreshAll(): void {
    for (const { refresh } of this.entries.values()) refresh();
  }

  /** The worst of all: the oldest success, and any problem. */
  summary(): PollState {
    const states = [...this.entries.values()].map(({ state }) => state);
    const failed = states.find(({ problem }) => problem !== undefined);
    const times = states.map(({ loadedAt }) => loadedAt);
    const loadedAt = times.reduce(
      (a, b) => (a === undefined || b === undefined ? undefined : Math.min(a, b)),
      times[0],
    );
    return { loadedAt, problem: failed?.problem, retryAt: failed?.retryAt };
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

import { type SettledRow } from './timeout-settler';

/** Hears what the engine did, after the commit. For metrics and logs; must not throw. */
export interface TimeoutObserver {
  /** @param nowMs the database's time, epoch milliseconds: lateness is `nowMs - due.dueAt`. */
  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void;
  /** Something could not be written down. */
  away(kind: string, error: unknown): void;
  /** A message that could not be read was parked. */
  undecodable(kind: string): void;
  /** The delay transport in use changed. */
  transport(name: string): void;
}

/** Several observers as one. */
export class TimeoutObservers implements TimeoutObserver {
  private readonly observers = new Set<TimeoutObserver>();

  add(observer: TimeoutObserver): void {
    this.observers.add(observer);
  }

  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void {
    for (const observer of this.observers) observer.settled(kind, rows, nowMs);
  }

  away(kind: string, error: unknown): void {
    for (const observer of this.observers) observer.away(kind, error);
  }

  undecodable(kind: string): void {
    for (const observer of this.observers) observer.undecodable(kind);
  }

  transport(name: string): void {
    for (const observer of this.observers) observer.transport(name);
  }
}

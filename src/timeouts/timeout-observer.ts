import { Logger } from '@nestjs/common';
import { type SettledRow } from './settling/outcomes';

/** Hears what the engine did, after the commit. For metrics and logs; must not throw. */
export interface TimeoutObserver {
  /** @param nowMs the database's time, epoch milliseconds: lateness is `nowMs - due.dueAt`. */
  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void;
  /** Nothing could be written, because the database did not answer. */
  unavailable(kind: string, error: unknown): void;
  /** A message that could not be read was parked. */
  undecodable(kind: string): void;
  /** The sweep took over so many timeouts, though the message path is up: their wake-ups were lost or are stalled. */
  wakeUpsMissed(kind: string, count: number): void;
  /** The delay transport in use changed. */
  transport(name: string): void;
}

/** Several observers as one. One that throws is logged: what it was told of is committed and has to go on. */
export class TimeoutObservers implements TimeoutObserver {
  private readonly logger = new Logger(TimeoutObservers.name);
  private readonly observers = new Set<Partial<TimeoutObserver>>();

  add(observer: Partial<TimeoutObserver>): void {
    this.observers.add(observer);
  }

  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void {
    this.tell((observer) => observer.settled?.(kind, rows, nowMs));
  }

  unavailable(kind: string, error: unknown): void {
    this.tell((observer) => observer.unavailable?.(kind, error));
  }

  undecodable(kind: string): void {
    this.tell((observer) => observer.undecodable?.(kind));
  }

  wakeUpsMissed(kind: string, count: number): void {
    this.tell((observer) => observer.wakeUpsMissed?.(kind, count));
  }

  transport(name: string): void {
    this.tell((observer) => observer.transport?.(name));
  }

  private tell(what: (observer: Partial<TimeoutObserver>) => void): void {
    for (const observer of this.observers) {
      try {
        what(observer);
      } catch (error) {
        this.logger.error('an observer threw', error instanceof Error ? error.stack : String(error));
      }
    }
  }
}

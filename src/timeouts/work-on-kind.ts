import { type Clock } from '../clock';
import { type Outbox } from '../outbox';
import { type Controls } from './controls/controls';
import { type RegisteredHandler } from './handlers/registered-handler';
import { type MessagePath } from './message-path/message-path';
import { TimeoutQueries } from './scheduling/timeout-queries';
import { type DatabaseClock } from './settling/database-clock';
import { Sweep } from './sweeping/sweep';
import { type TimeoutObservers } from './timeout-observer';
import { TimeoutProcessor } from './timeout-processor';
import { type ResolvedTimeoutsOptions } from './timeouts-options';
import { HEAD_START_MS } from './wake-ups/route-wake-up';

interface KindDependencies {
  readonly options: ResolvedTimeoutsOptions;
  readonly outbox: Outbox;
  readonly databaseClock: DatabaseClock;
  readonly observers: TimeoutObservers;
  readonly path: MessagePath;
  readonly controls: Controls;
  readonly writesWakeUps: boolean;
}

/** What works on the timeouts of one kind in this process. Nothing of it runs yet. */
export function workOnKind(
  handler: RegisteredHandler,
  { options, outbox, databaseClock, observers: observer, path, controls, writesWakeUps }: KindDependencies,
  clock: Clock,
): { readonly processor: TimeoutProcessor; readonly sweep: Sweep } {
  const { dataSource, schema, ladder } = options;
  // Longer than the ladder's unit and the head start: a wake-up that is less early would be redelivered without a delay.
  const longestHoldMs = Math.max(2_000, 2 * (ladder.unitMs ?? 0) + HEAD_START_MS);
  const isPaused = (): boolean => controls.isPaused(handler.kind);
  const shared = { dataSource, schema, outbox, writesWakeUps, databaseClock, observer, longestHoldMs, isPaused };
  const processor = new TimeoutProcessor(handler, shared, clock);
  const { concurrency } = handler.options;
  const upcomingSql = new TimeoutQueries(schema).upcoming;
  const watched = {
    isPaused,
    isClock: () => path.state !== 'up',
    missed: path.missed.bind(path, processor.kind),
  };
  const deps = { processor, dataSource, upcomingSql, options: options.sweep, concurrency, ...watched };
  return { processor, sweep: new Sweep(deps, clock) };
}

import { type Provider } from '@nestjs/common';
import { CLOCK, type Clock, SystemClock } from '../clock';
import { Outbox } from '../outbox';
import { RabbitClient } from '../rabbit';
import { ParkedTimeouts } from './parked-timeouts';
import { TimeoutEngine } from './timeout-engine';
import { UnknownTimeoutKindError } from './timeout-errors';
import { TimeoutHandlerExplorer } from './handlers/timeout-handler.explorer';
import { TimeoutObservers } from './timeout-observer';
import { openConnection } from './startup/connection';
import { TimeoutSummary } from './timeout-summary';
import { TimeoutQueries } from './scheduling/timeout-queries';
import { TimeoutScheduler } from './scheduling/timeout-scheduler';
import { TIMEOUTS_OPTIONS } from './timeouts.module-definition';
import { type ResolvedTimeoutsOptions, resolveTimeoutsOptions, type TimeoutsOptions } from './timeouts-options';

/** Injection token of the checked options. */
export const RESOLVED_TIMEOUTS_OPTIONS = Symbol('order-timeout:timeouts-options');

const clock: Provider = { provide: CLOCK, useClass: SystemClock };

const options: Provider = {
  provide: RESOLVED_TIMEOUTS_OPTIONS,
  inject: [TIMEOUTS_OPTIONS, CLOCK],
  useFactory: openTimeouts,
};

/** The options in full, with a connection that is open. */
export async function openTimeouts(raw: TimeoutsOptions, time: Clock): Promise<ResolvedTimeoutsOptions> {
  const resolved = resolveTimeoutsOptions(raw);
  await openConnection(resolved, time);
  return resolved;
}

const rabbit: Provider = {
  provide: RabbitClient,
  inject: [RESOLVED_TIMEOUTS_OPTIONS, CLOCK],
  useFactory: (resolved: ResolvedTimeoutsOptions, time: Clock) => new RabbitClient(resolved.rabbit, time),
};

const outbox: Provider = {
  provide: Outbox,
  inject: [RESOLVED_TIMEOUTS_OPTIONS],
  useFactory: ({ schema, horizonMs, hasOutboxReader }: ResolvedTimeoutsOptions) =>
    new Outbox({ schema, horizonMs, hasReader: hasOutboxReader }),
};

const engine: Provider = {
  provide: TimeoutEngine,
  inject: [RESOLVED_TIMEOUTS_OPTIONS, RabbitClient, Outbox, TimeoutObservers, CLOCK],
  useFactory: (
    resolved: ResolvedTimeoutsOptions,
    client: RabbitClient,
    box: Outbox,
    observers: TimeoutObservers,
    time: Clock,
  ) => new TimeoutEngine(resolved, client, box, observers, time),
};

const scheduler: Provider = {
  provide: TimeoutScheduler,
  inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutEngine],
  useFactory: (
    { dataSource, schema, horizonMs, transport, consume }: ResolvedTimeoutsOptions,
    running: TimeoutEngine,
  ) =>
    new TimeoutScheduler({
      dataSource,
      horizonMs,
      queries: new TimeoutQueries(schema),
      writesWakeUps: transport !== 'none',
      checkKind: (kind) => {
        if (consume && !running.kinds.includes(kind)) throw new UnknownTimeoutKindError(kind);
      },
      wake: (refs, cause) => running.wake(refs, cause),
    }),
};

const parked: Provider = {
  provide: ParkedTimeouts,
  inject: [RESOLVED_TIMEOUTS_OPTIONS],
  useFactory: ({ dataSource, schema, transport, horizonMs }: ResolvedTimeoutsOptions) =>
    new ParkedTimeouts({ dataSource, schema, writesWakeUps: transport !== 'none', horizonMs }),
};

const summary: Provider = {
  provide: TimeoutSummary,
  inject: [RESOLVED_TIMEOUTS_OPTIONS],
  useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new TimeoutSummary(dataSource, schema),
};

/** Everything TimeoutsModule provides. */
export const TIMEOUTS_PROVIDERS: Provider[] = [
  clock,
  options,
  rabbit,
  outbox,
  TimeoutObservers,
  TimeoutHandlerExplorer,
  engine,
  scheduler,
  parked,
  summary,
];

import { type DatabaseClock } from './database-clock';
import { type HandlerAdapter } from '../handlers/handler-adapter';
import { type OutcomeRecorder } from './outcome-recorder';
import { type ResolvedHandlerOptions } from '../handlers/resolve-handler-options';
import { type SettlementQueries } from './settlement-queries';
import { type TimeoutObserver } from '../timeout-observer';
import { type TimeoutSettler } from './timeout-settler';

/** What the worker of one kind works with. */
export interface ProcessorDependencies {
  readonly kind: string;
  readonly options: ResolvedHandlerOptions;
  readonly handler: HandlerAdapter;
  readonly settler: TimeoutSettler;
  readonly recorder: OutcomeRecorder;
  readonly queries: SettlementQueries;
  readonly databaseClock: DatabaseClock;
  readonly observer: TimeoutObserver;
  /** What is early by less is held in the process; what is early by more goes round through the outbox. */
  readonly longestHoldMs: number;
}

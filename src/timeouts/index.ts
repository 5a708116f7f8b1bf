export { assertTables, rehearseWrite } from './startup/assert-tables';
export { createTimeouts } from './migrations/create-timeouts';
export { indexUndecided } from './migrations/index-undecided';
export { noteFirstLookUp } from './migrations/note-first-look-up';
export { oldestOverdue } from './sweeping/oldest-overdue';
export { oldestUndecided, undecidedTimeouts } from './sweeping/oldest-undecided';
export { ParkedTimeouts } from './parked-timeouts';
export {
  type DueTimeout,
  type ScheduleTimeout,
  type TimeoutCause,
  type TimeoutRecord,
  type TimeoutRef,
} from './timeout';
export { countTimeouts, type TimeoutCounts } from './timeout-counts';
export { COUNT_LIMIT, type DueCounts, MINUTE_LIMIT, type ParkedGroup, TimeoutSummary } from './timeout-summary';
export { type Control, type ControlReason } from './controls/control';
export { type ControlChange, type Controls } from './controls/controls';
export { TimeoutEngine } from './timeout-engine';
export { type TransportChoice } from './message-path/transport-choice';
export { type PathFacts, readPathFacts } from './message-path/read-path-facts';
export { InvalidTimeoutError, UnknownTimeoutKindError } from './timeout-errors';
export { type SettlementRun, type TimeoutHandlerBatch, type TimeoutHandlerSingle } from './handlers/timeout-handler';
export { registeredHandler } from './handlers/registered-handler';
export { TimeoutHandler, type TimeoutHandlerOptions } from './handlers/timeout-handler.decorator';
export { type TimeoutObserver, TimeoutObservers } from './timeout-observer';
export { payloadsOf } from './scheduling/payloads-of';
export { timeoutExists } from './scheduling/timeout-exists';
export { LOOK_UP, DONE, type TimeoutOutcome } from './handlers/timeout-outcome';
export { type ScheduledTimeout, TimeoutScheduler } from './scheduling/timeout-scheduler';
export { type TimeoutScope } from './scheduling/timeout-scope';
export { MissingRightsError } from './startup/missing-rights-error';
export { MissingTablesError } from './startup/missing-tables-error';
export { refuseSecondImport } from './startup/refuse-second-import';
export { refuseCurrentSchema, refuseSharedSchema } from './startup/refuse-shared-schema';
export { type SettledRow } from './settling/settled-batch';
export { TimeoutsModule } from './timeouts.module';
export { TIMEOUTS_OPTIONS as RAW_TIMEOUTS_OPTIONS } from './timeouts.module-definition';
export {
  DRIVEN_BY_TESTS,
  DORMANT,
  OWNS_DATABASE,
  type ResolvedTimeoutsOptions,
  resolveTimeoutsOptions,
  type SweepOptions,
  TIMEOUTS_OPTIONS,
  type TimeoutsOptions,
} from './timeouts-options';
export { openTimeouts, RESOLVED_TIMEOUTS_OPTIONS } from './timeouts.providers';

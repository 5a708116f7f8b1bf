export {
  assertTables,
  rehearseWrite,
  refuseSecondImport,
  refuseCurrentSchema,
  refuseSharedSchema,
} from './startup/assert-database';
export { createTimeouts, indexUndecided, noteFirstLookUp } from './migrations';
export {
  findFailing,
  oldestOverdue,
  oldestUndecided,
  undecidedTimeouts,
  countTimeouts,
  type TimeoutCounts,
  COUNT_LIMIT,
  type DueCounts,
  MINUTE_LIMIT,
  type ParkedGroup,
  TimeoutSummary,
} from './timeout-summary';
export { ParkedTimeouts } from './parked-timeouts';
export {
  type DueTimeout,
  type LookUpAnswers,
  type ScheduleTimeout,
  type TimeoutCause,
  type TimeoutRecord,
  type TimeoutRef,
  type SettlementRun,
  type TimeoutHandlerBatch,
  type TimeoutHandlerSingle,
  LOOK_UP,
  DONE,
  type TimeoutOutcome,
  type TimeoutObserver,
  TimeoutObservers,
  type SettledRow,
} from './model/timeout';
export { type Control, type ControlReason, type ControlChange, type Controls, readControls } from './controls/controls';
export { TimeoutEngine } from './engine/timeout-engine';
export { type TransportChoice } from './message-path/transport-switch';
export { type PathFacts, readPathFacts } from './message-path/wake-up-republisher';
export { InvalidTimeoutError, UnknownTimeoutKindError, MissingRightsError, MissingTablesError } from './model/errors';
export { OWN_KIND, registeredHandler, TimeoutHandler, type TimeoutHandlerOptions } from './handlers/registered-handler';
export {
  payloadsOf,
  timeoutExists,
  type ScheduledTimeout,
  TimeoutScheduler,
  type TimeoutScope,
} from './scheduling/timeout-scheduler';
export {
  TimeoutsModule,
  TIMEOUTS_OPTIONS as RAW_TIMEOUTS_OPTIONS,
  openTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
} from './timeouts.module';
export {
  DRIVEN_BY_TESTS,
  DORMANT,
  OWNS_DATABASE,
  type ResolvedTimeoutsOptions,
  type SweepOptions,
  timeoutsOptions,
  asUsed,
  findConflicts,
  type TimeoutsOptions,
} from './model/timeouts-options';

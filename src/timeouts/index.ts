export { assertTables } from './assert-tables';
export { contentionBackoffMs } from './contention-backoff';
export { isContention, isDatabaseAway, isLockTimeout, isPermissionDenied, isRetryableConflict } from './database-away';
export { GROUP_COMMIT, GroupCommit } from './group-commit';
export { createTimeouts } from './migrations/create-timeouts';
export { indexUndecided } from './migrations/index-undecided';
export { oldestOverdue } from './oldest-overdue';
export { oldestUndecided } from './oldest-undecided';
export { ParkedTimeouts } from './parked-timeouts';
export {
  type DueTimeout,
  type ScheduleTimeout,
  type TimeoutCause,
  type TimeoutRecord,
  type TimeoutRef,
} from './timeout';
export { TimeoutEngine } from './timeout-engine';
export {
  DuplicateTimeoutHandlerError,
  HandlerContractError,
  HandlerTimeoutError,
  InvalidTimeoutError,
  InvalidTimeoutHandlerError,
  MissingTimeoutHandlerError,
  UnknownTimeoutKindError,
} from './timeout-errors';
export { type SettlementRun, type TimeoutHandlerBatch, type TimeoutHandlerSingle } from './timeout-handler';
export { TimeoutHandler, type TimeoutHandlerOptions } from './timeout-handler.decorator';
export { type TimeoutObserver, TimeoutObservers } from './timeout-observer';
export { timeoutExists } from './timeout-exists';
export { ASK, DONE, type TimeoutOutcome } from './timeout-outcome';
export { type ScheduledTimeout, TimeoutScheduler } from './timeout-scheduler';
export { type TimeoutScope } from './timeout-scope';
export { throughOutage } from './through-outage';
export { MissingRightsError } from './missing-rights-error';
export { MissingTablesError } from './missing-tables-error';
export { isDatabaseWritable } from './is-database-writable';
export { ImportedTwiceError, refuseSecondImport } from './refuse-second-import';
export { refuseCurrentSchema, refuseSharedSchema } from './refuse-shared-schema';
export { SharedSchemaError } from './shared-schema-error';
export { findSchemaNameProblems, validateSchemaName } from './schema-name';
export { type SettledRow } from './timeout-settler';
export { TimeoutsModule } from './timeouts.module';
export {
  OWNS_DATABASE,
  type ResolvedTimeoutsOptions,
  resolveTimeoutsOptions,
  type SweepOptions,
  TIMEOUTS_OPTIONS,
  type TimeoutsOptions,
} from './timeouts-options';
export { RESOLVED_TIMEOUTS_OPTIONS } from './timeouts.providers';

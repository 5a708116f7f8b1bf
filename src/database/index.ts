export { ResilientClient, writableServers, cancel, hangUp, type PooledClient } from './resilient-client';
export {
  PLAN_BY_INDEX,
  PreparingClient,
  isDatabaseWritable,
  ownQuery,
  onOwnConnection,
  STATEMENT_MS,
  UNREPLICATED,
  interceptQueries,
  type Send,
  storableJson,
  storableText,
} from './own-connection';
export {
  poolSize,
  schemaName,
  serverUrl,
  validateSchemaName,
  APPLICATION,
  connectionOptions,
  type DatabaseOptions,
  databaseOptions,
} from './connection-options';
export {
  AbortedTransactionError,
  ChangedMeanwhileError,
  ExpectedRollback,
  NewerSchemaError,
  UnsupportedIsolationLevelError,
} from './errors';
export {
  retryWhileUnavailable,
  isDatabaseAtFault,
  isDatabaseClosed,
  isDatabaseMissing,
  isDatabaseUnavailable,
  isPermissionDenied,
  isContention,
  isDiskFull,
  isFromDatabase,
  isOfRows,
  isLockTimeout,
  isLoginRefused,
  isOfValues,
  isOutOfConnections,
  isReadOnly,
  isRetryableConflict,
  isSchemaUnusable,
  isTriggerBroken,
  isPoolerRefusing,
  isUserShutOut,
  nameOwnSchema,
} from './database-errors';
export {
  nameOf,
  readRecorded,
  readRecordedEarlier,
  type RecordedMigration,
  type Migration,
  prepareRecord,
  recordMigration,
  RECORD_TABLES,
  serviceRights,
  timestampOf,
  refuseNewerSchema,
  isLive,
  type LiveMigration,
  runMigration,
  recordStatements,
  rehearse,
} from './migrations';
export { GROUP_COMMIT, GroupCommit } from './group-commit';
export { indexMigrationOf, migrationOf } from './migration-of';
export {
  ownTransaction,
  type TransactionOptions,
  contentionBackoffMs,
  lockPatienceOf,
  type LockPatience,
  joinStatements,
  joinTransaction,
  retryConflicts,
  type Tables,
  Database,
  statements,
} from './transaction';
export {
  type Queryable,
  type Transaction,
  UnusableTransactionError,
  isEntityManager,
} from './host-transactions/transaction';
export { statementsOf, type Statements } from './host-transactions/host-call';
export {
  type DrizzleSql,
  type DrizzleTransaction,
  fromDrizzle,
  fromKnex,
  type KnexTransaction,
  fromKysely,
  type KyselyTransaction,
  fromMikroOrm,
  type MikroOrmEntityManager,
  fromPrisma,
  type PrismaTransaction,
} from './host-transactions/adapters';
export { type ScannedPage, type ScanRange, ScanWindow } from './scan-window';

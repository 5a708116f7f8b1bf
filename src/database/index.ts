export { ResilientClient } from './resilient-client';
export { findSessionProblem, parseServerUrls } from './server-urls';
export { PLAN_BY_INDEX, PreparingClient } from './preparing-client';
export { findSchemaNameProblems, validateSchemaName } from './schema-name';
export { UnsupportedIsolationLevelError } from './unsupported-isolation-level-error';
export { retryWhileUnavailable } from './retry-while-unavailable';
export { isDatabaseWritable } from './is-database-writable';
export {
  isDatabaseMissing,
  isDatabaseUnavailable,
  isPermissionDenied,
  isContention,
  isDiskFull,
  isFromDatabase,
  isGivenUp,
  isLockTimeout,
  isLoginRefused,
  isOutOfConnections,
  isReadOnly,
  isRetryableConflict,
  isSchemaUnusable,
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
  timestampOf,
} from './migrations-table';
export { NewerSchemaError } from './newer-schema-error';
export { refuseNewerSchema } from './refuse-newer-schema';
export { ownTransaction } from './own-transaction';
export { type TransactionOptions } from './transaction-options';
export { createIndexLive, isLive, type LiveMigration } from './live-migration';
export { type Queryable, type Transaction } from './host-transactions/transaction';
export { ExpectedRollback } from './expected-rollback';
export { AbortedTransactionError } from './aborted-transaction-error';
export { UnusableTransactionError } from './host-transactions/unusable-transaction-error';
export { isEntityManager } from './host-transactions/is-entity-manager';
export { statementsOf, type Statements } from './host-transactions/statements-of';
export { type DrizzleSql, type DrizzleTransaction, fromDrizzle } from './host-transactions/from-drizzle';
export { fromKnex, type KnexTransaction } from './host-transactions/from-knex';
export { fromKysely, type KyselyTransaction } from './host-transactions/from-kysely';
export { fromMikroOrm, type MikroOrmEntityManager } from './host-transactions/from-mikro-orm';
export { fromPrisma, type PrismaTransaction } from './host-transactions/from-prisma';
export { runMigration } from './run-migration';
export { recordStatements } from './record-statements';
export { rehearse } from './rehearse';
export { ownQuery } from './own-query';
export { type ScanRange, ScanWindow } from './scan-window';
export { storableJson, storableText } from './storable-json';
export { contentionBackoffMs } from './contention-backoff';
export { lockPatienceOf, type LockPatience } from './lock-patience';
export { joinStatements, joinTransaction, retryConflicts, runTransaction, type Tables } from './run-transaction';
export { GROUP_COMMIT, GroupCommit } from './group-commit';
export { onOwnConnection, STATEMENT_MS } from './on-own-connection';
export { APPLICATION, connectionOptions } from './connection-options';
export {
  type DatabaseOptions,
  findDatabaseProblems,
  type ResolvedDatabaseOptions,
  resolveDatabaseOptions,
} from './database-options';
export { cancel, hangUp, type PooledClient } from './hang-up';
export { interceptQueries, type Send } from './intercept-queries';

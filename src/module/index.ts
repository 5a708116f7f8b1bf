export {
  type OrderTimeoutOptions,
  type OrderTimeoutExtras,
  type ResolvedOrderTimeoutOptions,
  resolveOrderTimeoutOptions,
} from './order-timeout-options';
export { OrderTimeoutModule } from './order-timeout.module';
export {
  ORDER_TIMEOUT_OPTIONS,
  type OrderTimeoutModuleAsyncOptions,
  type OrderTimeoutModuleOptions,
  RAW_ORDER_TIMEOUT_OPTIONS,
} from './order-timeout.module-definition';
export { migrate, migrateTarget } from './migrate';
export { orderTimeoutMigrations } from './migrations';
export { assertMigrated } from './assert-migrated';
export { DATABASE_ROLES, type DatabaseRole, grantsSql } from './grants-sql';
export { type MigrationStatus, readMigrationStatus } from './migration-status';
export { migrationsSql } from './migrations-sql';
export { readInstalledObjects, type SchemaObject, uninstallTables } from './uninstall-tables';
export { findBrokerObjects, type FoundObjects } from './find-broker-objects';
export { type OpenWork, readOpenWork } from './read-open-work';

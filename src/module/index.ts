export {
  type OrderTimeoutOptions,
  type OrderTimeoutExtras,
  type ResolvedOrderTimeoutOptions,
  resolveOrderTimeoutOptions,
  ORDER_TIMEOUT_OPTIONS,
  type OrderTimeoutModuleAsyncOptions,
  type OrderTimeoutModuleOptions,
  RAW_ORDER_TIMEOUT_OPTIONS,
} from './order-timeout-options';
export { OrderTimeoutModule } from './order-timeout.module';
export { migrate, migrateTarget } from './migrate';
export { orderTimeoutMigrations, assertMigrated } from './migrations';
export { DATABASE_ROLES, type DatabaseRole, grantsSql } from './grants-sql';
export { type MigrationStatus, readMigrationStatus, migrationsSql } from './migration-status';
export {
  readInstalledObjects,
  type SchemaObject,
  uninstallTables,
  findBrokerObjects,
  type FoundObjects,
  type OpenWork,
  readOpenWork,
} from './uninstall-tables';

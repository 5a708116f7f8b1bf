export { assertMigrated } from './assert-migrated';
export { AttentiveClient } from './attentive-client';
export { migrate, migrateTarget } from './migrate';
export { orderTimeoutMigrations } from './migrations';
export { findSessionProblem, parseServerUrls } from './server-urls';
export { NewerSchemaError } from './newer-schema-error';
export { PLAN_BY_INDEX, PreparingClient } from './preparing-client';

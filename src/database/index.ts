export { AttentiveClient } from './attentive-client';
export { migrate } from './migrate';
export { orderTimeoutMigrations } from './migrations';
export { NewerSchemaError } from './newer-schema-error';
export { PLANNER_OPTIONS, PreparingClient } from './preparing-client';

export { type OrderTimeoutOptions, type OrderTimeoutExtras } from './order-timeout-options';
export { OrderTimeoutModule } from './order-timeout.module';
export { type OrderTimeoutModuleAsyncOptions, type OrderTimeoutModuleOptions } from './order-timeout.module-definition';
export { migrate } from './migrate';
export { orderTimeoutMigrations } from './migrations';

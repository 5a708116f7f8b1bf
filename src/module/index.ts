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
export { migrate } from './migrate';
export { orderTimeoutMigrations } from './migrations';

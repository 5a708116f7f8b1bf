export { ChangeStock, type ChangeStockOutcome, type StockMove } from './change-stock';
export { holdsStock, reservedOrderIds } from './holds-stock';
export { Inventory } from './inventory';
export { inventoryMigrations } from './migrations/inventory-migrations';
export { StockOwners } from './stock-owners';
export { selectUnfit, type UnfitDemand } from './select-unfit';
export {
  type Reservation,
  type ReserveOutcome,
  type SetStockCondition,
  type SetStockOutcome,
  type StockDemand,
  type StockDifference,
  type StockEffect,
  type StockLevel,
  type StockShortage,
} from './stock';

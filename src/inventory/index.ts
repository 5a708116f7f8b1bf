export { ChangeStock, type ChangeStockOutcome, type StockMove, StockOwners } from './change-stock';
export {
  type EntityTable,
  OF_ORDER,
  READ_ONLY,
  ReservationEntity,
  STOCK_TABLES,
  StockEntity,
  textColumn,
} from './entities';
export { holdsStock, reservedOrderIds } from './inventory-queries';
export {
  Inventory,
  selectUnfit,
  type UnfitDemand,
  type Reservation,
  type ReserveOutcome,
  type SetStockCondition,
  type SetStockOutcome,
  type StockDemand,
  type StockDifference,
  type StockEffect,
  type StockLevel,
  type StockShortage,
} from './inventory';
export { inventoryMigrations } from './migrations';

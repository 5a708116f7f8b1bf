import { type EntitySchemaColumnOptions, type EntitySchemaOptions } from 'typeorm';

/** TypeORM writes no such column. */
export const READ_ONLY = { insert: false, update: false } as const;

export function textColumn(name: string): EntitySchemaColumnOptions {
  return { ...READ_ONLY, name, type: 'text' };
}

export const OF_ORDER = {
  order: {
    type: 'many-to-one',
    target: 'OrderEntity',
    joinColumn: { name: 'order_id' },
    createForeignKeyConstraints: false,
  },
} as const;

/** A row of `inventory`. What can be sold is `onHand - reserved`. */
export class StockEntity {
  declare readonly sku: string;
  /** Null: every merchant may sell it. */
  declare readonly merchantId: string | null;
  declare readonly onHand: number;
  declare readonly reserved: number;
}

/** A row of `reservation`: what an order holds of a SKU. */
export class ReservationEntity {
  declare readonly orderId: string;
  declare readonly sku: string;
  declare readonly quantity: number;
  declare readonly state: 'RESERVED' | 'RELEASED' | 'COMMITTED';
  declare readonly order: object;
}

/** The entity of a table, without what is the same for all. */
export interface EntityTable {
  readonly target: new () => object;
  readonly tableName: string;
  readonly columns: Readonly<Record<string, EntitySchemaColumnOptions>>;
  readonly relations?: NonNullable<EntitySchemaOptions<Record<string, unknown>>['relations']>;
}

export const STOCK_TABLES: readonly EntityTable[] = [
  {
    target: StockEntity,
    tableName: 'inventory',
    columns: {
      sku: { ...textColumn('sku'), primary: true },
      merchantId: { ...textColumn('merchant_id'), nullable: true },
      onHand: { ...READ_ONLY, name: 'on_hand', type: 'int' },
      reserved: { ...READ_ONLY, name: 'reserved', type: 'int' },
    },
  },
  {
    target: ReservationEntity,
    tableName: 'reservation',
    columns: {
      orderId: { ...textColumn('order_id'), primary: true },
      sku: { ...textColumn('sku'), primary: true },
      quantity: { ...READ_ONLY, name: 'qty', type: 'int' },
      state: textColumn('state'),
    },
    relations: OF_ORDER,
  },
];

import { type OrderView } from '../../orders';

/** An order without what may identify its buyer. */
export type PlainOrder = Omit<OrderView, 'metadata'>;

export function withoutMetadata(order: OrderView): PlainOrder {
  return Object.fromEntries(Object.entries(order).filter(([name]) => name !== 'metadata')) as unknown as PlainOrder;
}

/** The result of an action on an order, likewise. */
export function plainResult<T extends { readonly order: OrderView }>(
  result: T,
): Omit<T, 'order'> & { readonly order: PlainOrder } {
  return { ...result, order: withoutMetadata(result.order) };
}

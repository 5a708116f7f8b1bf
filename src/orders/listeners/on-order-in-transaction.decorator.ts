import { type EntityManager } from 'typeorm';
import { markListener } from './listener-metadata';
import { type OrderEvent, type OrderEventName } from './order-event';

/**
 * Marks a method of a provider that is called with these events in the transaction that changes the orders, before its
 * commit: with one event after a request, and with up to a few hundred when orders are closed. What it writes through `tx`
 * is committed with the change. An error rolls everything back, the change of the order included.
 *
 * It holds up the transaction, so it must make no remote calls.
 */
export function OnOrderInTransaction<Name extends OrderEventName>(
  events: Name | readonly Name[],
): <Method extends (events: OrderEvent<Name>[], tx: EntityManager) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void {
  return markListener({ events: typeof events === 'string' ? [events] : events, when: 'in-transaction', options: {} });
}

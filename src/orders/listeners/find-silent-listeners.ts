import { type OrderPolicies } from '../order-policies';
import { type FoundListener } from './order-listener.explorer';

/** Names of the listeners to placed orders, if no policy announces these. */
export function findSilentListeners(
  found: readonly Pick<FoundListener, 'name' | 'events'>[],
  policies: Pick<OrderPolicies, 'sendPlacedEvents'>,
): string[] {
  if (policies.sendPlacedEvents) return [];
  return found.flatMap(({ name, events }) => (events.includes('placed') ? [name] : []));
}

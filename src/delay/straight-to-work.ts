import { type TopologyNames } from '../rabbit';
import { type DelayRoute } from './delay-transport';

/**
 * The route of a wake-up that is due already. `mandatory` is safe here: this is an ordinary exchange, and the parked
 * exchange takes unroutable messages.
 */
export function straightToWork(names: TopologyNames, kind: string): DelayRoute {
  return { exchange: names.work, routingKey: kind, mandatory: true };
}

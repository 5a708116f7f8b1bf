import { type TopologyNames } from '../rabbit';
import { type DelayRoute } from './delay-transport';

/** The way of a wake-up that is due already. Mandatory is safe here: an ordinary exchange, and parked catches the rest. */
export function straightToWork(names: TopologyNames, kind: string): DelayRoute {
  return { exchange: names.work, routingKey: kind, mandatory: true };
}

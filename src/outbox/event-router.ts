import { type Publication, type TopologyNames } from '../rabbit';
import { type ClaimedRow } from './outbox-claims';
import { messageOf } from './message-of';

/** Events go to the events exchange at once; nobody listening is not an error, so they are not mandatory. */
export function routeEvent(names: TopologyNames, row: ClaimedRow): Publication {
  return { ...messageOf(row), exchange: names.events, routingKey: row.routing_key };
}

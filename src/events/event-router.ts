import { type Publication, type TopologyNames } from '../rabbit';
import { type ClaimedRow } from './outbox-claims';
import { traceHeaders } from './trace-headers';

/** Events go to the events exchange at once; nobody listening is not an error, so they are not mandatory. */
export function routeEvent(names: TopologyNames, row: ClaimedRow): Publication {
  return {
    exchange: names.events,
    routingKey: row.routing_key,
    body: Buffer.from(row.body),
    messageId: row.id,
    type: row.routing_key,
    headers: traceHeaders(row.traceparent),
  };
}

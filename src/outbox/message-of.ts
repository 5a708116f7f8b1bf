import { type Publication } from '../rabbit';
import { type ClaimedRow } from './outbox-claims';
import { traceHeaders } from './trace-headers';

/** What every outbox row becomes, wherever it is sent: its id is the message's, so that a second copy can be told. */
export function messageOf(row: ClaimedRow): Pick<Publication, 'body' | 'messageId' | 'type' | 'headers'> {
  return {
    body: Buffer.from(row.body),
    messageId: row.id,
    type: row.routing_key,
    headers: traceHeaders(row.traceparent),
  };
}

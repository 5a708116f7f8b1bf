import { traceparentOf } from '../tracing';

/** The trace headers of a message; of anything but a W3C traceparent none, as it could make the message unsendable. */
export function traceHeaders(traceparent: string | null | undefined): Readonly<Record<string, string>> {
  const known = traceparentOf(traceparent);
  return known === undefined ? {} : { traceparent: known };
}

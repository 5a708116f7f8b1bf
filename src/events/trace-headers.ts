/** W3C trace context: version, trace id, parent id, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace headers of a message; of anything but a W3C traceparent none, as it could make the message unsendable. */
export function traceHeaders(traceparent: string | null | undefined): Readonly<Record<string, string>> {
  return traceparent && TRACEPARENT.test(traceparent) ? { traceparent } : {};
}

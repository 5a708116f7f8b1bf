/** W3C trace context: version, trace id, parent id, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A traceparent from outside, or undefined if it is none: it goes into rows and headers as it is. */
export function traceparentOf(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined;
}

/** The trace headers of a message; of anything but a W3C traceparent none, as it could make the message unsendable. */
export function traceHeaders(traceparent: string | null | undefined): Readonly<Record<string, string>> {
  const known = traceparentOf(traceparent);
  return known === undefined ? {} : { traceparent: known };
}

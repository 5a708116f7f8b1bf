const TRANSPORT_HEADER = /^(x-death|x-first-death-|x-last-death-|x-delay$|x-delivery-count$|x-acquired-count$|x-opt-)/;

/**
 * Returns the headers without those that the broker writes or obeys. A message must not be published again with them:
 * an old `x-death` looks like a dead-letter cycle, so the broker drops the message, and an old `x-delay` no longer
 * applies.
 */
export function withoutTransportHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !TRANSPORT_HEADER.test(name)));
}

const TRANSPORT_HEADER = /^(x-death|x-first-death-|x-last-death-|x-delay$|x-delivery-count$|x-acquired-count$|x-opt-)/;

/**
 * Headers without those the broker wrote or obeys. A re-published message must not carry them: an old `x-death`
 * looks like a dead-letter cycle and the broker drops the message, an old `x-delay` is not a delay any more.
 */
export function withoutTransportHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !TRANSPORT_HEADER.test(name)));
}

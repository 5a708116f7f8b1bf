/** Longer waits are cut to this: the header is not signed, so a proxy could delay an order for hours. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Milliseconds of a Retry-After header (seconds or an HTTP date); undefined if it is missing or invalid. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

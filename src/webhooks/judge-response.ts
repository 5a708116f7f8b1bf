import { type WebhookResponse } from './webhook-client';

/** What became of one attempt. */
export type WebhookVerdict =
  | { readonly type: 'delivered' }
  | { readonly type: 'gone'; readonly reason: string }
  | { readonly type: 'failed'; readonly reason: string; readonly retryAfterMs?: number };

/** The receiver cannot put a delivery off for longer. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

/** Pure. Any status 2xx is a success; 410 says that nothing will ever be accepted; everything else is tried again. */
export function judgeResponse({ status, retryAfter }: WebhookResponse, nowMs: number): WebhookVerdict {
  if (status >= 200 && status < 300) return { type: 'delivered' };
  if (status === 410) return { type: 'gone', reason: 'the endpoint answered 410 Gone; remove it, or replay later' };
  const reason = status >= 300 && status < 400 ? `HTTP ${status}; redirects are not followed` : `HTTP ${status}`;
  const retryAfterMs = waitOf(retryAfter, nowMs);
  return { type: 'failed', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Seconds, or an HTTP date. */
function waitOf(retryAfter: string | undefined, nowMs: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_WAIT_MS);
}

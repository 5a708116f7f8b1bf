import { type Reply } from '../reply';
import { stripeError, type StripeResult, toReply } from './stripe-result';

/** How long Stripe remembers a key. */
const MEMORY_MS = 24 * 3_600_000;

/** Results that mean that the work was begun, so they are kept, a 500 too. */
const KEPT = new Set([200, 400, 402, 404, 500]);

interface Kept {
  readonly parameters: string;
  readonly since: number;
  /** Undefined: the first call is still being worked on. */
  result: StripeResult | undefined;
}

/** One call's work: what it came to, if to anything, and what goes over the wire, which may be something else. */
export interface Work {
  readonly result: StripeResult | undefined;
  readonly reply: Reply;
}

/** The first results of idempotency keys. */
export class StripeIdempotency {
  private readonly byKey = new Map<string, Kept>();

  /** Does the work once per key; `now` is in epoch milliseconds. @param parameters what has to be the same again. */
  async once(key: string, parameters: string, now: number, work: () => Promise<Work>): Promise<Reply> {
    const known = this.byKey.get(key);
    if (known && now - known.since < MEMORY_MS) return repeat(known, parameters, now);
    const kept: Kept = { parameters, since: now, result: undefined };
    this.byKey.set(key, kept);
    try {
      const { result, reply } = await work();
      if (result && KEPT.has(result.status)) kept.result = result;
      return reply;
    } finally {
      if (!kept.result) this.byKey.delete(key);
    }
  }
}

function repeat({ parameters, result }: Kept, given: string, now: number): Reply {
  if (parameters !== given) {
    const message = 'Keys for idempotent requests can only be used with the same parameters they were first used with.';
    return toReply(stripeError(400, { type: 'idempotency_error', message }), now);
  }
  if (result) return toReply(result, now, { 'idempotent-replayed': 'true' });
  const message = 'There is currently another in-progress request using this Idempotency Key.';
  return toReply(stripeError(409, { type: 'idempotency_error', code: 'idempotency_key_in_use', message }), now);
}

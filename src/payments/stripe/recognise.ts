import { type z } from 'zod';
import { type UnknownOutcome } from '../payment-outcome';

/** A Stripe object that was positively recognized. */
export interface Found<T> {
  readonly type: 'FOUND';
  readonly object: T;
}

/** What the object must match. */
interface Expected {
  readonly id: string;
  /** Undefined: the mode of the merchant's key is unknown and is not checked. */
  readonly livemode: boolean | undefined;
}

/** Returns the requested object, or UNKNOWN if the answer is not as documented, or has another id or the other mode. */
export function recognise<T extends { readonly id: string; readonly livemode: boolean }>(
  schema: z.ZodType<T>,
  body: unknown,
  expected: Expected,
): Found<T> | UnknownOutcome {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return unrecognised(parsed.error);
  const { id, livemode } = parsed.data;
  if (id !== expected.id) return untrusted(`Stripe answered about ${id} instead of ${expected.id}`);
  if (expected.livemode !== undefined && livemode !== expected.livemode) {
    return untrusted(`Stripe answered from ${livemode ? 'live' : 'test'} mode, which is not the merchant's`);
  }
  return { type: 'FOUND', object: parsed.data };
}

/** The answer does not have the documented format. */
export function unrecognised(error: z.ZodError): UnknownOutcome {
  const problems = error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`).slice(0, 3);
  return { type: 'UNKNOWN', reason: `Stripe's answer is not recognized: ${problems.join('; ')}` };
}

/** The answer belongs to another request. */
export function untrusted(reason: string): UnknownOutcome {
  return { type: 'UNKNOWN', reason, untrusted: true };
}

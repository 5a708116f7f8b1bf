import { type z } from 'zod';
import { type UnknownOutcome } from '../payment-outcome';

/** Something of Stripe's that was positively recognised. */
export interface Found<T> {
  readonly type: 'FOUND';
  readonly object: T;
}

/** What the object has to be. */
interface Expected {
  readonly id: string;
  /** Undefined: the mode of the merchant's key is not known, so it is not checked. */
  readonly livemode: boolean | undefined;
}

/** The object that was asked about, or UNKNOWN: not as Stripe documents it, another one, or of the other mode. */
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

/** An answer that does not look as documented. */
export function unrecognised(error: z.ZodError): UnknownOutcome {
  const problems = error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`).slice(0, 3);
  return { type: 'UNKNOWN', reason: `answer of Stripe is not recognised: ${problems.join('; ')}` };
}

/** An answer to another question than was asked. */
export function untrusted(reason: string): UnknownOutcome {
  return { type: 'UNKNOWN', reason, untrusted: true };
}

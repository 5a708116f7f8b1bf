import { z } from 'zod';

/** What an operator can stop: a kind of timeouts, or a payment provider. */
export type ControlSubject = `kind:${string}` | `provider:${string}`;

/** Who did it, and why. */
export interface ControlReason {
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
}

/** What is in force for a subject. Null: nothing. */
export interface Control {
  readonly pause: ControlReason | null;
  /** Calls per second for each merchant account. Only of providers. */
  readonly limit: (ControlReason & { readonly perSecond: number }) | null;
}

/** What is in force where nobody has done anything. */
export const NO_CONTROL: Control = { pause: null, limit: null };

const reason = { by: z.string(), reason: z.string(), at: z.iso.datetime().transform((text) => new Date(text)) };
/** Fields of a later release stay. */
const schema = z.looseObject({
  pause: z.object(reason).nullable().default(null),
  limit: z
    .object({ ...reason, perSecond: z.number().positive() })
    .nullable()
    .default(null),
});

/** Reads a row. What cannot be read is not in force, or a later release could stop this one. */
export function readControl(value: string): Control {
  try {
    return schema.safeParse(JSON.parse(value)).data ?? NO_CONTROL;
  } catch {
    return NO_CONTROL;
  }
}

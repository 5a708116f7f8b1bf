import { z } from 'zod';
import { MAX_PAGE } from './max-page';

const MAX_KIND = 100;
const MAX_KEY = 200;

/** PostgreSQL does not accept NUL in text. */
export const withoutNul = (min: number, max: number): z.ZodString =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(/^[^\0]*$/, 'must not contain NUL');

/** Query of `GET /timeouts/parked`. */
export const parkedPageSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
  afterKind: withoutNul(0, MAX_KIND).default(''),
  afterKey: withoutNul(0, MAX_KEY).default(''),
});

/** Body of `POST /timeouts/parked/replay` and `/discard`. */
export const chosenTimeoutsSchema = z.strictObject({
  timeouts: z
    .array(z.strictObject({ kind: withoutNul(1, MAX_KIND), key: withoutNul(1, MAX_KEY) }))
    .min(1, 'must name at least one timeout')
    .max(MAX_PAGE, `must name at most ${MAX_PAGE} timeouts`),
});

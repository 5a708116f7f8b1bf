import { z } from 'zod';
import { fields, newDeadlineSchema } from '../../orders/input';
import { chosenTimeoutsSchema, parkedPageSchema, withoutNul } from './parked-timeout-schemas';

// The operator page asks for a reason for everything that it does.

const { reason, flag } = fields;

/** Things that one request may name. Each order among them is locked. */
const MAX_CHOSEN = 200;
const MAX_REASON_OF_GROUP = 2_000;
const MAX_MESSAGE_ID = 255;

export const operatorExtensionSchema = newDeadlineSchema.safeExtend({ reason });
export const operatorAutoCloseSchema = z.strictObject({ enabled: flag, reason });

/** Query of parked timeouts. `reason` is that of a group. */
export const operatorParkedPageSchema = parkedPageSchema.extend({
  kind: withoutNul(0, 100).optional(),
  reason: withoutNul(0, MAX_REASON_OF_GROUP).optional(),
});

export const operatorTimeoutsSchema = chosenTimeoutsSchema.extend({
  timeouts: chosenTimeoutsSchema.shape.timeouts.max(MAX_CHOSEN, `must name at most ${MAX_CHOSEN} timeouts`),
  reason,
});

/** From now, in milliseconds. */
export const operatorRescheduleSchema = operatorTimeoutsSchema.extend({ afterMs: fields.windowMs });

const chosen = <T extends z.ZodType>(id: T) =>
  z.strictObject({
    ids: z.array(id).min(1, 'must name at least one').max(MAX_CHOSEN, `must name at most ${MAX_CHOSEN}`),
    reason,
  });

/** Rows of the outbox. */
export const chosenRowsSchema = chosen(z.guid('must be a UUID'));

/** Messages of the broker. An empty id stands for all without an id. */
export const chosenMessagesSchema = chosen(z.string().max(MAX_MESSAGE_ID));

export const operatorPageLimitSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_CHOSEN).default(100),
});

export const refundPageSchema = operatorPageLimitSchema.extend({
  state: z.enum(['failed', 'pending'], 'must be failed or pending').default('pending'),
});

const LIMIT = 'must be null (as configured), or from 0.1 to 10000 calls per second';

/** The limit of a provider. */
export const providerLimitSchema = z.strictObject({
  perSecond: z.number(LIMIT).min(0.1, LIMIT).max(10_000, LIMIT).nullable(),
  reason,
});

import { z } from 'zod';
import { fields } from './fields';

const shape = { expiresAt: fields.instant.optional(), byMs: fields.byMs.optional(), reason: fields.reason.optional() };

const EITHER = { path: ['expiresAt'], error: 'give exactly one of expiresAt and byMs' };

interface Either {
  readonly expiresAt?: Date | undefined;
  readonly byMs?: number | undefined;
}

const hasOne = ({ expiresAt, byMs }: Either): boolean => (expiresAt === undefined) !== (byMs === undefined);

/** Body of `POST /orders/:id/extend`. */
export const newDeadlineSchema = z.strictObject(shape).refine(hasOne, EITHER);

/** Body of the command `order.extended`. */
export const newDeadlineCommandSchema = z.strictObject({ orderId: fields.orderId, ...shape }).refine(hasOne, EITHER);

import { z } from 'zod';
import { fields } from '../../orders/input';
import { MAX_PAGE } from './max-page';

/** Query of `GET /payments/unmatched`. */
export const unmatchedPageSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
  after: fields.unmatchedId.optional(),
});

/** Body of `POST /payments/unmatched/:id/assign`. */
export const assignmentSchema = z.strictObject({ orderId: fields.orderId, reason: fields.reason });

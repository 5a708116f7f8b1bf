import { z } from 'zod';
import {
  ATTEMPT_STATUSES,
  type AttemptView,
  ORDER_STATUSES,
  type OrderLineView,
  type OrderView,
} from '../../../orders';
import { describes } from '../../schema/describes';
import { instant } from '../../schema/instant';
import { money } from '../../schema/money';

export const orderStatus = z.enum(ORDER_STATUSES);

export const orderLineAnswer = describes<OrderLineView>()(
  z.object({ sku: z.string(), quantity: z.int(), unitAmount: money }),
);

export const attemptAnswer = describes<AttemptView>()(
  z.object({
    provider: z.string(),
    reference: z.string(),
    status: z.enum(ATTEMPT_STATUSES),
    amount: money,
    currency: z.string(),
    merchantAccount: z.string().exactOptional(),
    timeExpire: instant.exactOptional(),
    createdAt: instant,
    paidAmount: money.exactOptional(),
    paidAt: instant.exactOptional(),
    transactionId: z.string().exactOptional(),
  }),
);

/** What most routes answer with. */
export const orderAnswer = describes<OrderView>()(
  z.object({
    id: z.string(),
    merchantId: z.string(),
    status: orderStatus,
    version: z.int().describe('Grows with every change'),
    amount: money,
    currency: z.string(),
    expiresAt: instant.describe('The deadline'),
    expired: z.boolean().describe('Whether the deadline has passed, by the clock of the database'),
    payable: z.boolean().describe('Whether a new payment attempt is accepted'),
    autoClose: z.boolean().describe('Whether the order is closed at its deadline'),
    lines: z.array(orderLineAnswer),
    attempts: z.array(attemptAnswer),
    metadata: z.record(z.string(), z.unknown()).exactOptional(),
    createdAt: instant,
    paidAt: instant.exactOptional(),
    closedAt: instant.exactOptional(),
  }),
);

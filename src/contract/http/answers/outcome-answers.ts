import { z } from 'zod';
import { type AssignUnmatchedResult, type MarkPaidResult, type RefundPaymentResult } from '../../../orders';
import { describes } from '../../schema/describes';
import { orderAnswer } from './order-answer';

type Accepted<Result extends { readonly outcome: string }> = Exclude<Result, { outcome: 'rejected' | 'unknown-order' }>;

const BOOKED = ['paid', 'booked', 'already-paid', 'late', 'surplus', 'amount-mismatch', 'currency-mismatch'] as const;

export const paidAnswer = describes<Accepted<MarkPaidResult>>()(
  z.object({ outcome: z.enum([...BOOKED, 'attempt-mismatch']), order: orderAnswer }),
);

export const refundAnswer = describes<Accepted<RefundPaymentResult>>()(
  z.object({ outcome: z.enum(['refunding', 'refunded']), order: orderAnswer }),
);

export const assignedAnswer = describes<Accepted<AssignUnmatchedResult>>()(
  z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('assigned'),
      booked: z.enum(BOOKED).describe('The outcome of the payment'),
      order: orderAnswer,
    }),
    z.object({ outcome: z.literal('already-assigned'), order: orderAnswer }),
  ]),
);

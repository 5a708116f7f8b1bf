import { z } from 'zod';
import { type UnmatchedHandling, type UnmatchedPayment, type UnmatchedReason } from '../../../orders';
import { describes } from '../../schema/describes';
import { instant } from '../../schema/instant';
import { money } from '../../schema/money';

export const unmatchedReason = describes<UnmatchedReason>()(
  z.enum([
    'late',
    'surplus',
    'unknown-order',
    'attempt-mismatch',
    'amount-mismatch',
    'currency-mismatch',
    'refund-failed',
    'excess-refund-failed',
    'overpaid',
    'invalid-amount',
    'chargeback',
  ]),
);

export const unmatchedHandling = describes<UnmatchedHandling>()(
  z.enum(['kept', 'waiting', 'revived', 'refunding', 'adopted', 'completed', 'settled']),
);

export const unmatchedPaymentAnswer = describes<UnmatchedPayment>()(
  z.object({
    id: z.guid(),
    reason: unmatchedReason,
    handling: unmatchedHandling,
    orderId: z.string().nullable().describe('Null: unknown'),
    provider: z.string(),
    reference: z.string(),
    merchantAccount: z.string().nullable().describe('Null: the provider has one account'),
    amount: money,
    currency: z.string(),
    source: z.enum(['report', 'provider']).describe('Who says that it was paid'),
    evidence: z.record(z.string(), z.unknown()),
    createdAt: instant,
    resolvedAt: instant.nullable(),
    resolvedBy: z.string().nullable(),
    resolution: z.string().nullable(),
  }),
);

/** Oldest first. */
export const unmatchedPaymentsAnswer = z.array(unmatchedPaymentAnswer);

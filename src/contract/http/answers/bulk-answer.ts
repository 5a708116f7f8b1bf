import { z } from 'zod';
import { type BulkOutcome, type BulkResult } from '../../../orders';
import { describes } from '../../schema/describes';

export const bulkOutcomeAnswer = describes<BulkOutcome>()(
  z.object({
    id: z.string(),
    outcome: z.string().describe('The outcome of the single action, or a code; `BUSY`: repeat the call'),
  }),
);

/** What one call of an action on many orders did. */
export const bulkResultAnswer = describes<BulkResult>()(
  z.object({
    dryRun: z.boolean(),
    count: z.int().describe('Orders that this call handled'),
    outcomes: z.record(z.string(), z.int()).describe('How many orders had which outcome or code'),
    sample: z.array(bulkOutcomeAnswer).describe('At most 20 of the orders, those with a code first'),
    next: z.string().nullable().describe('The `cursor` of the next call. Null: all orders are handled'),
  }),
);

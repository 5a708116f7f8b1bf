import { z } from 'zod';
import { type HistoryEntry, TRANSITION_CAUSES } from '../../../orders';
import { describes } from '../../schema/describes';
import { instant } from '../../schema/instant';
import { orderStatus } from './order-answer';

export const historyEntryAnswer = describes<HistoryEntry>()(
  z.object({
    version: z.int(),
    from: orderStatus.nullable().describe('Null: the order was placed'),
    to: orderStatus,
    cause: z.enum(TRANSITION_CAUSES),
    actor: z.string().nullable(),
    reason: z.string().nullable(),
    evidence: z.record(z.string(), z.unknown()).nullable(),
    traceparent: z.string().nullable(),
    occurredAt: instant,
  }),
);

/** Oldest entry first. */
export const historyAnswer = z.array(historyEntryAnswer);

import { z } from 'zod';
import { type TimeoutRecord } from '../../../timeouts';
import { describes } from '../../schema/describes';
import { instant } from '../../schema/instant';

export const parkedTimeoutAnswer = describes<TimeoutRecord>()(
  z.object({
    kind: z.string(),
    key: z.string(),
    generation: z.string().describe('Decimal digits'),
    dueAt: instant,
    nextAttemptAt: instant,
    attempts: z.int().describe('Failed runs'),
    state: z.enum(['pending', 'parked']),
    lastError: z.string().nullable(),
    payload: z.record(z.string(), z.unknown()),
  }),
);

/** By kind and key. */
export const parkedTimeoutsAnswer = z.array(parkedTimeoutAnswer);

export const countAnswer = z.object({ count: z.int().describe('Those that were parked') });

export const republishAnswer = z.object({
  outcome: z.enum(['requested', 'off']).describe('`off`: the transport is `none`'),
});

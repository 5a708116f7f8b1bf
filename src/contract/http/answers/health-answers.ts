import { z } from 'zod';
import { type Readiness } from '../../../operations';
import { describes } from '../../schema/describes';

const upOrDown = z.enum(['up', 'down']);

export const livenessAnswer = z.object({ status: z.literal('alive') });

export const readinessAnswer = describes<Readiness>()(
  z.object({
    status: z.enum(['ready', 'degraded', 'not-ready']).describe('`degraded`: requests are served'),
    engine: z.enum(['ready', 'starting-or-stopping']),
    database: upOrDown,
    broker: z.enum(['up', 'down', 'not configured']),
    messagePath: z.enum(['up', 'down', 'suspect', 'off']),
    cause: z.string().exactOptional().describe('What is wrong with the message path, and what to do'),
    transport: z.string().exactOptional(),
  }),
);

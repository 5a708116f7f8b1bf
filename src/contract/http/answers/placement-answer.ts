import { z } from 'zod';
import { type BulkResult } from '../../../api/http';
import { describes } from '../../schema/describes';

export const bulkResultAnswer = describes<BulkResult>()(
  z.object({
    id: z.string(),
    outcome: z.enum(['placed', 'replayed', 'rejected']),
    code: z.string().exactOptional().describe('Why the order was rejected'),
    detail: z.string().exactOptional(),
  }),
);

export const bulkAnswer = z.object({ results: z.array(bulkResultAnswer).describe('In the order of the request') });

import { z } from 'zod';
import { type Placement } from '../../../api/http';
import { describes } from '../../schema/describes';

export const placementAnswer = describes<Placement>()(
  z.object({
    id: z.string(),
    outcome: z.enum(['placed', 'replayed', 'rejected']),
    code: z.string().exactOptional().describe('Why the order was rejected'),
    detail: z.string().exactOptional(),
  }),
);

export const placementsAnswer = z.object({ results: z.array(placementAnswer).describe('In the order of the request') });

import { z } from 'zod';

/** An amount in an answer or an event. */
export const money = z.int().describe('In minor units, such as cents');

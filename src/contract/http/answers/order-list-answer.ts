import { z } from 'zod';
import { type OrderList } from '../../../orders';
import { describes } from '../../schema/describes';
import { orderAnswer } from './order-answer';

/** Newest first. */
export const orderListAnswer = describes<OrderList>()(
  z.object({
    orders: z.array(orderAnswer).describe('Newest first. May be empty although there are more pages'),
    next: z.string().nullable().describe('The `cursor` of the next page. Null: this is the last one'),
  }),
);

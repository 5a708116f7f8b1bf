import { z } from 'zod';
import { type StockLevel } from '../../../inventory';
import { describes } from '../../schema/describes';

export const stockAnswer = describes<StockLevel>()(
  z.object({
    sku: z.string(),
    onHand: z.int(),
    reserved: z.int(),
    available: z.int().describe('`onHand` less `reserved`'),
    merchantId: z.string().exactOptional().describe('Only of a SKU that belongs to a merchant'),
  }),
);

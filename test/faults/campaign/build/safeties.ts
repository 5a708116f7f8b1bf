import { ENGINE_SAFETIES } from './engine-safeties';
import { ORDER_SAFETIES } from './order-safeties';
import { type Safety } from './safety';

/** Each must make the harness fail. */
export const SAFETIES: readonly Safety[] = [...ORDER_SAFETIES, ...ENGINE_SAFETIES];

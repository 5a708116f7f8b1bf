import { type Invariant } from './invariant';
import { ORDER_INVARIANTS } from './order-invariants';
import { RECORD_INVARIANTS } from './record-invariants';
import { STOCK_INVARIANTS } from './stock-invariants';

/** Everything that the demo promises. */
export const INVARIANTS: readonly Invariant[] = [...ORDER_INVARIANTS, ...STOCK_INVARIANTS, ...RECORD_INVARIANTS];

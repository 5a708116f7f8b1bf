import { closesAt } from '../close/decide-closing';
import { type ReadOrderRow } from '../sql/read-views';

/** Whether the order should have been closed by now. */
export function isOverdue({ order, now }: ReadOrderRow): boolean {
  return order.status === 'PENDING' && order.autoClose && now >= closesAt(order);
}

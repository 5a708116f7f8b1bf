import { EVENT_OF_STATUS } from '../../src/orders/model/transition';
import { ORDER_STATUSES, type OrderStatus, TRANSITIONS } from '../../src/orders/model/order';
import { code } from './markdown';
import { arrowsOf, stateDiagram } from './state-diagram';

/** The compiler asks for a line here when the code gets another status. */
const MEANINGS: Readonly<Record<OrderStatus, string>> = {
  PENDING: 'waits for the buyer',
  CLOSING: 'takes no new payment attempt; its open attempts are closed at their providers',
  CLOSED: 'not paid in full in time; its stock is released',
  CANCELLED: 'canceled by the buyer or the shop; its stock is released',
  PAID: 'paid; its stock is sold',
  REFUNDING: 'a payment that came too late, or was too small, is being refunded',
  CLOSED_REFUNDED: 'all such payments are refunded',
};

const nextOf = (status: OrderStatus): readonly OrderStatus[] => TRANSITIONS[status];

/** The section about orders, from the table that every step of an order is checked against. */
export function orderStatusSection(): string {
  const labels = { starts: ['PENDING'] as const, labelOf: (status: OrderStatus) => EVENT_OF_STATUS[status] };
  const diagram = stateDiagram(arrowsOf(ORDER_STATUSES, nextOf, labels));
  const rows = ORDER_STATUSES.map((status) => `| ${code(status)} | ${MEANINGS[status]} |`);
  return `### Order status

From \`TRANSITIONS\` in \`src/orders/model/order.ts\`. Any other step throws an error, and nothing is written.
Each arrow is labeled with the event that the step emits.

${diagram}

| status | meaning |
|---|---|
${rows.join('\n')}

\`CLOSED\`, \`CANCELLED\`, and \`CLOSED_REFUNDED\` are final too, unless there is an
[unmatched payment](unmatched-payments.md).
`;
}

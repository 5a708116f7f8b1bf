import {
  ATTEMPT_STATUSES,
  ATTEMPT_TRANSITIONS,
  type AttemptStatus,
  FIRST_ATTEMPT_STATUSES,
} from '../../src/orders/model/order';
import { code } from './markdown';
import { arrowsOf, stateDiagram } from './state-diagram';

/** The compiler asks for a line here when the code gets another status. */
const MEANINGS: Readonly<Record<AttemptStatus, string>> = {
  CREATED: 'stored, but not yet handed to the provider or the buyer',
  OPEN: 'may be paid at any moment',
  UNKNOWN: 'the last look-up had no clear result',
  PAID: 'the money is received',
  CLOSED: 'takes no more money, according to the provider or an operator',
  REFUNDING: 'the refund is in progress',
  REFUNDED: 'the money is refunded',
  DUPLICATE: 'another name of a payment that another attempt of the order holds',
  SETTLED: 'a person has dealt with the money, which no longer counts',
};

const nextOf = (status: AttemptStatus): readonly AttemptStatus[] => ATTEMPT_TRANSITIONS[status];

/** The section about payment attempts, from the table that every step of an attempt is checked against. */
export function attemptStatusSection(): string {
  const rows = ATTEMPT_STATUSES.map((status) => `| ${code(status)} | ${MEANINGS[status]} |`);
  return `### Payment attempt status

From \`ATTEMPT_TRANSITIONS\` in \`src/orders/model/order.ts\`.
A new attempt is \`CREATED\` or \`OPEN\`, or \`PAID\` if an unregistered payment is reported.

${stateDiagram(arrowsOf(ATTEMPT_STATUSES, nextOf, { starts: FIRST_ATTEMPT_STATUSES }))}

| status | meaning |
|---|---|
${rows.join('\n')}

A \`CLOSED\` attempt becomes \`PAID\` if money arrives despite the close.
A \`PAID\` attempt becomes \`OPEN\`, \`CLOSED\`, or \`DUPLICATE\` only if the provider says that another attempt has the
payment. Only a person makes it \`SETTLED\`, or \`PAID\` again.
`;
}

import { type z } from 'zod';
import { attemptAnswer, orderAnswer, orderLineAnswer } from '../http/answers/order-answer';
import { orderListAnswer } from '../http/answers/order-list-answer';
import { stockAnswer } from '../http/answers/stock-answer';
import { ANSWERS, REFUSAL } from './answers';
import { COMMANDS } from './commands';
import { EVENTS } from './events';
import { type Message } from './message';
import { REQUESTS } from './requests';

/** What several answers have in common, named as in the HTTP API. */
const SHARED = {
  Order: orderAnswer,
  OrderLine: orderLineAnswer,
  Attempt: attemptAnswer,
  OrderList: orderListAnswer,
  StockLevel: stockAnswer,
};

const messages = [COMMANDS, REQUESTS, ANSWERS, EVENTS].flatMap((group): Message[] => Object.values(group));

const NAMES: ReadonlyMap<z.ZodType, string> = new Map([
  ...[...messages, REFUSAL].map(({ name, schema }) => [schema, name] as const),
  ...Object.entries(SHARED).map(([name, schema]) => [schema, name] as const),
]);

/** The schemas of all messages, by the names of their types in generated clients. */
export const MESSAGE_SCHEMAS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  [...NAMES].map(([schema, name]) => [name, schema]),
);

/** Where the document keeps schemas. */
export const SCHEMAS_AT = '#/components/schemas/';

/** Where the document keeps the schema of a message. */
export function payloadOf({ name, schema }: Message): { readonly $ref: string } {
  return { $ref: `${SCHEMAS_AT}${NAMES.get(schema) ?? name}` };
}

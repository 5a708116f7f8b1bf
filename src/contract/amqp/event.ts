import { z } from 'zod';
import { type OrderEventType, TRANSITION_CAUSES } from '../../orders';
import { instant } from '../schema/instant';
import { money } from '../schema/money';
import { type Message } from './message';

export type EventType = OrderEventType | 'timeout.parked';

type Details = Readonly<Record<string, unknown>>;

/** What an event adds to the fields that every event has. */
interface EventParts {
  readonly name: string;
  readonly summary: string;
  readonly fields: z.ZodRawShape;
  readonly details: Details;
}

const head = <Type extends EventType>(type: Type) => ({
  id: z.guid().describe('The same in every copy of the event, and the message_id'),
  type: z.literal(type),
  version: z.literal(1),
  occurredAt: instant,
});

/** Fields of the order at the time of the event. */
export const order = {
  orderId: z.string(),
  merchantId: z.string(),
  orderVersion: z.int().describe('Grows with every change of the order'),
  amount: money,
  currency: z.string(),
  expiresAt: instant,
};

export const cause = z.enum(TRANSITION_CAUSES);

/** Fields that say why the order changed. */
export const why = { reason: z.string().nullable().describe('A code, or the text of the cancellation'), cause };

export const ORDER = {
  orderId: 'o-1',
  merchantId: 'shop-1',
  orderVersion: 2,
  amount: 4_200,
  currency: 'EUR',
  expiresAt: '2030-03-01T12:30:00.000Z',
};

/** An event of this type. */
export function event(type: EventType, { name, summary, fields, details }: EventParts): Message {
  const common = {
    id: '0199d5a0-3c1e-7d4a-9a53-0d2b8a4c6f10',
    type,
    version: 1,
    occurredAt: '2030-03-01T12:30:00.012Z',
  };
  return { name, summary, schema: z.object({ ...head(type), ...fields }), example: { ...common, ...details } };
}

/** An event about a change of an order. @param details of the example. */
export function changed(type: EventType, name: string, summary: string, details: Details): Message {
  return event(type, { name, summary, fields: { ...order, ...why }, details: { ...ORDER, ...details } });
}

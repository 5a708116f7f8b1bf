import { TopologyNames } from '../../rabbit';
import { jsonSchemas } from '../schema/json-schemas';
import { COMMANDS } from './commands';
import { EVENTS } from './events';
import { type Message, type Messages } from './message';
import { parkedChannel, parkedMessage } from './parked-channel';

/** What differs between services. */
export interface AsyncApiOptions {
  /** Version of the package. */
  readonly version: string;
  /** Prefix of the exchanges and queues. */
  readonly prefix: string;
}

type Component = Readonly<Record<string, unknown>>;
type Direction = 'command' | 'event';

const SCHEMAS_AT = '#/components/schemas/';
const TRACEPARENT = { type: 'string', description: 'W3C trace context' };

/** Pure: the AsyncAPI 3 document of the commands and events over RabbitMQ. */
export function asyncApiDocument({ version, prefix }: AsyncApiOptions): Component {
  const names = new TopologyNames(prefix);
  const all = [...Object.values(COMMANDS), ...Object.values(EVENTS)];
  const schemas = Object.fromEntries(all.map(({ name, schema }) => [name, schema]));
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'nestjs-order-timeout',
      version,
      description: 'Commands to the service and events from it, over AMQP 0-9-1. Delivery is at least once.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: { rabbitmq: { host: 'localhost:5672', protocol: 'amqp', protocolVersion: '0.9.1' } },
    channels: {
      ...channelsOf('command', COMMANDS, names.commands),
      ...channelsOf('event', EVENTS, names.events),
      parked: parkedChannel(names.parked),
    },
    operations: {
      ...operationsOf('command', COMMANDS),
      ...operationsOf('event', EVENTS),
      'park.message': { action: 'send', channel: { $ref: '#/channels/parked' } },
    },
    components: {
      messages: { ...messagesOf('command', COMMANDS), ...messagesOf('event', EVENTS), parked: parkedMessage },
      schemas: jsonSchemas(schemas, SCHEMAS_AT, 'draft-07'),
    },
  };
}

const idOf = (direction: Direction, key: string): string => `${direction}.${key}`;

function mapped<T>(direction: Direction, messages: Messages, map: (key: string, message: Message) => T) {
  return Object.fromEntries(
    Object.entries(messages).map(([key, message]) => [idOf(direction, key), map(key, message)]),
  );
}

/** One channel for each routing key. */
function channelsOf(direction: Direction, messages: Messages, exchange: string): Component {
  const bindings = {
    amqp: { is: 'routingKey', exchange: { name: exchange, type: 'topic', durable: true }, bindingVersion: '0.3.0' },
  };
  return mapped(direction, messages, (key, { name, summary }) => ({
    address: key,
    summary,
    messages: { [name]: { $ref: `#/components/messages/${name}` } },
    bindings,
  }));
}

/** From the side of the service: it receives commands, and sends events. */
function operationsOf(direction: Direction, messages: Messages): Component {
  return mapped(direction, messages, (key, { summary }) => ({
    action: direction === 'command' ? 'receive' : 'send',
    channel: { $ref: `#/channels/${idOf(direction, key)}` },
    summary,
    bindings: { amqp: { deliveryMode: 2, bindingVersion: '0.3.0' } },
  }));
}

function messagesOf(direction: Direction, messages: Messages): Component {
  const properties = { traceparent: TRACEPARENT };
  return Object.fromEntries(
    Object.entries(messages).map(([key, { name, summary, example }]) => [
      name,
      {
        name: key,
        title: name,
        summary,
        headers: { type: 'object', properties },
        payload: { $ref: `${SCHEMAS_AT}${name}` },
        examples: [{ name: direction, payload: example }],
        bindings: { amqp: { contentEncoding: 'UTF-8', messageType: key, bindingVersion: '0.3.0' } },
      },
    ]),
  );
}

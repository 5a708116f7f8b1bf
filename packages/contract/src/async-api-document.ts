import { DEFAULT_PREFIX, TopologyNames } from '../../../src/rabbit';
import { jsonSchemas } from './json-schemas';
import { ANSWERS, COMMANDS, MESSAGE_SCHEMAS, payloadOf, SCHEMAS_AT, REQUESTS, REFUSAL } from './messages';
import { EVENTS, type Message, type Messages } from './events';

type Component = Readonly<Record<string, unknown>>;

/** The messages that have a routing key of their own. */
const GROUPS = { command: COMMANDS, request: REQUESTS, event: EVENTS } as const;

type Group = keyof typeof GROUPS;

const TRACEPARENT = { type: 'string', description: 'W3C trace context' };

/** Pure: the AsyncAPI 3 document of what is sent over RabbitMQ. @param version of the package */
export function asyncApiDocument(version: string): Component {
  const names = new TopologyNames(DEFAULT_PREFIX);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'nestjs-order-timeout',
      version,
      description:
        'Commands and requests to the service, its answers, and events from it, over AMQP 0-9-1. Delivery is at least once.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: { rabbitmq: { host: 'localhost:5672', protocol: 'amqp', protocolVersion: '0.9.1' } },
    channels: {
      ...channelsOf('command', names.commands),
      ...channelsOf('request', names.commands),
      answers: answersChannel,
      ...channelsOf('event', names.events),
      parked: parkedChannel(names.parked),
    },
    operations: {
      ...operationsOf('command'),
      ...operationsOf('request'),
      ...operationsOf('event'),
      'park.message': { action: 'send', channel: { $ref: '#/channels/parked' } },
    },
    components: {
      messages: {
        ...messagesOf('command'),
        ...messagesOf('request'),
        ...answerMessages,
        ...messagesOf('event'),
        parked: parkedMessage,
      },
      schemas: jsonSchemas(MESSAGE_SCHEMAS, SCHEMAS_AT, 'draft-07'),
    },
  };
}

function mapped<T>(group: Group, map: (key: string, message: Message) => T): Record<string, T> {
  const messages: Messages = GROUPS[group];
  return Object.fromEntries(Object.entries(messages).map(([key, message]) => [`${group}.${key}`, map(key, message)]));
}

/** One channel for each routing key. */
function channelsOf(group: Group, exchange: string): Component {
  const bindings = {
    amqp: { is: 'routingKey', exchange: { name: exchange, type: 'topic', durable: true }, bindingVersion: '0.3.0' },
  };
  return mapped(group, (key, { name, summary }) => ({
    address: key,
    summary,
    messages: { [name]: { $ref: `#/components/messages/${name}` } },
    bindings,
  }));
}

/** From the side of the service: it receives commands and requests, and sends events. */
function operationsOf(group: Group): Component {
  return mapped(group, (key, { summary }) => ({
    action: group === 'event' ? 'send' : 'receive',
    channel: { $ref: `#/channels/${group}.${key}` },
    summary,
    ...(isAnswered(group, key) ? { reply: replyTo(key) } : {}),
    bindings: { amqp: { deliveryMode: 2, bindingVersion: '0.3.0' } },
  }));
}

/** Events may have the name of a command. */
function isAnswered(group: Group, key: string): key is keyof typeof ANSWERS {
  return group !== 'event' && key in ANSWERS;
}

function messagesOf(group: Group): Component {
  const properties = { traceparent: TRACEPARENT };
  const messages = mapped(
    group,
    (key, message) =>
      [
        message.name,
        {
          name: key,
          title: message.name,
          summary: message.summary,
          ...(group === 'event' ? {} : { correlationId: CORRELATION }),
          headers: { type: 'object', properties },
          payload: payloadOf(message),
          examples: [{ name: group, payload: message.example }],
          bindings: { amqp: { contentEncoding: 'UTF-8', messageType: key, bindingVersion: '0.3.0' } },
        },
      ] as const,
  );
  return Object.fromEntries(Object.values(messages));
}

/** How an answer names its command. */
const CORRELATION = {
  description: 'The AMQP property `correlation_id`: chosen by the sender, and repeated in the answer',
  location: '$message.header#/correlation_id',
};

const all: readonly (readonly [string | undefined, Message])[] = [...Object.entries(ANSWERS), [undefined, REFUSAL]];

/** The queues of the senders, which get the answers by the default exchange. */
const answersChannel: Component = {
  address: null,
  summary: 'Answers, in the queue that the sender names in `reply_to`',
  messages: Object.fromEntries(all.map(([, { name }]) => [name, { $ref: `#/components/messages/${name}` }])),
  bindings: { amqp: { is: 'routingKey', exchange: { name: '', type: 'default' }, bindingVersion: '0.3.0' } },
};

/** Messages of the channel, by name. */
const answerMessages: Component = Object.fromEntries(
  all.map(([key, message]) => [message.name, describe(key, message)]),
);

/** @param key of the command, which is the type of its answer. A refusal has that of whatever was refused. */
function describe(key: string | undefined, message: Message): Component {
  const { name, summary, example } = message;
  return {
    name,
    title: name,
    summary,
    correlationId: CORRELATION,
    payload: payloadOf(message),
    examples: [{ name: 'answer', payload: example }],
    bindings: {
      amqp: {
        contentEncoding: 'UTF-8',
        ...(key === undefined ? {} : { messageType: key }),
        bindingVersion: '0.3.0',
      },
    },
  };
}

/** `reply` of the operation that takes a command or a request. */
function replyTo(key: keyof typeof ANSWERS): Component {
  const names = [ANSWERS[key].name, REFUSAL.name];
  return {
    address: { description: 'The AMQP property `reply_to`', location: '$message.header#/reply_to' },
    channel: { $ref: '#/channels/answers' },
    messages: names.map((name) => ({ $ref: `#/channels/answers/messages/${name}` })),
  };
}

/** A message that could not be processed. Its body is what was sent, whatever that is. */
const parkedMessage = {
  name: 'parked',
  title: 'ParkedMessage',
  summary: 'A message that could not be processed, with its body, routing key, and headers',
  headers: {
    type: 'object',
    properties: {
      'x-ot-error-code': { type: 'string', description: 'A code of the HTTP API, or one of docs/amqp.md' },
      'x-ot-error-reason': { type: 'string', description: 'A sentence with the values' },
      'x-ot-headers-dropped': { type: 'string', description: 'Present if its own headers were dropped' },
    },
  },
} as const;

/** Where such messages are kept. @param name of the exchange and the queue. */
function parkedChannel(name: string): Readonly<Record<string, unknown>> {
  return {
    address: name,
    summary: 'Messages that could not be processed',
    messages: { parked: { $ref: '#/components/messages/parked' } },
    bindings: { amqp: { is: 'queue', queue: { name, durable: true }, bindingVersion: '0.3.0' } },
  };
}

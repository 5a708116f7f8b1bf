import { TopologyNames } from '../../rabbit';
import { jsonSchemas } from '../schema/json-schemas';
import { ANSWERS } from './answers';
import { answerMessages, answersChannel, CORRELATION, replyTo } from './answers-channel';
import { COMMANDS } from './commands';
import { EVENTS } from './events';
import { type Message, type Messages } from './message';
import { MESSAGE_SCHEMAS, payloadOf, SCHEMAS_AT } from './message-schemas';
import { parkedChannel, parkedMessage } from './parked-channel';
import { REQUESTS } from './requests';

/** What differs between services. */
export interface AsyncApiOptions {
  /** Version of the package. */
  readonly version: string;
  /** Prefix of the exchanges and queues. */
  readonly prefix: string;
}

type Component = Readonly<Record<string, unknown>>;

/** The messages that have a routing key of their own. */
const GROUPS = { command: COMMANDS, request: REQUESTS, event: EVENTS } as const;
type Group = keyof typeof GROUPS;

const TRACEPARENT = { type: 'string', description: 'W3C trace context' };

/** Pure: the AsyncAPI 3 document of what is sent over RabbitMQ. */
export function asyncApiDocument({ version, prefix }: AsyncApiOptions): Component {
  const names = new TopologyNames(prefix);
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

import { ANSWERS, REFUSAL } from './answers';
import { type Message } from './message';
import { payloadOf } from './message-schemas';

type Component = Readonly<Record<string, unknown>>;

/** How an answer names its command. */
export const CORRELATION = {
  description: 'The AMQP property `correlation_id`: chosen by the sender, and repeated in the answer',
  location: '$message.header#/correlation_id',
};

const all: readonly (readonly [string | undefined, Message])[] = [...Object.entries(ANSWERS), [undefined, REFUSAL]];

/** The queues of the senders, which get the answers by the default exchange. */
export const answersChannel: Component = {
  address: null,
  summary: 'Answers, in the queue that the sender names in `reply_to`',
  messages: Object.fromEntries(all.map(([, { name }]) => [name, { $ref: `#/components/messages/${name}` }])),
  bindings: { amqp: { is: 'routingKey', exchange: { name: '', type: 'default' }, bindingVersion: '0.3.0' } },
};

/** Messages of the channel, by name. */
export const answerMessages: Component = Object.fromEntries(
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
export function replyTo(key: keyof typeof ANSWERS): Component {
  const names = [ANSWERS[key].name, REFUSAL.name];
  return {
    address: { description: 'The AMQP property `reply_to`', location: '$message.header#/reply_to' },
    channel: { $ref: '#/channels/answers' },
    messages: names.map((name) => ({ $ref: `#/channels/answers/messages/${name}` })),
  };
}

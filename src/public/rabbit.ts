// RabbitMQ: the transport of commands and events, and the outbox.
export { Outbox, type OutboxEntry } from '../outbox';
export {
  EventDeserializer,
  type QueueType,
  RABBIT_TRANSPORT,
  RabbitContext,
  type RabbitOptions,
  RabbitServer,
} from '../rabbit';

export { type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
export { ConfirmedPublisher } from './confirmed-publisher';
export {
  EventDeserializer,
  RabbitContext,
  CommandHandlers,
  RabbitServer,
  type Verdict,
  RABBIT_TRANSPORT,
} from './rabbit-server';
export { declareBase, declareWorkQueue, type BrokerObjects, removeTopology } from './declare-topology';
export { Delivery, type ParkReason, ManualAckConsumer } from './consumer';
export { KeptDeliveries } from './kept-deliveries';
export {
  type PrefixOwner,
  readPrefixOwner,
  takePrefix,
  BrokerInspection,
  BrokerSilentError,
  onChannel,
} from './broker-inspection';
export { type Publication, type PublishOutcome, type PublishWatch } from './publications';
export { RabbitClient } from './rabbit-client';
export {
  DEFAULT_PREFIX,
  QUEUE_TYPES,
  rabbitOptions,
  resolveRabbitOptions,
  type QueueType,
  type RabbitOptions,
  type ResolvedRabbitOptions,
} from './rabbit-options';
export {
  DELIVERY_LIMIT,
  loginOf,
  permitCommand,
  quoted,
  TopologyNames,
  expectedTopology,
  type ExpectedExchange,
  type ExpectedQueue,
} from './topology';
export { endConnection } from './rabbit-connection';
export { BrokerLoginRefusedError } from './errors';
export { LEAST_CHANNELS } from './kept-channel';
export { type ListedQueue, ManagementApi, ManagementError } from './management-api';
export { ParkedMessages, type ChosenMessages, type ParkedMessage } from './parked';

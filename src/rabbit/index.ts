export { type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
export { ConfirmedPublisher } from './confirmed-publisher';
export { EventDeserializer } from './event.deserializer';
export { declareBase, declareWorkQueue } from './declare-topology';
export { Delivery } from './delivery';
export { KeptDeliveries } from './kept-deliveries';
export { ManualAckConsumer } from './manual-ack-consumer';
export { type ParkReason } from './park-reason';
export { type PrefixOwner, readPrefixOwner, takePrefix } from './prefix-owner';
export { type Publication, type PublishOutcome, type PublishWatch } from './publication';
export { RabbitClient } from './rabbit-client';
export {
  findRabbitProblems,
  resolveRabbitOptions,
  type QueueType,
  type RabbitOptions,
  type ResolvedRabbitOptions,
} from './rabbit-options';
export { permitCommand } from './service-permissions';
export { TopologyNames } from './topology-names';
export { RabbitContext } from './rabbit-context';
export { CommandHandlers } from './command-handlers';
export { RabbitServer, type Verdict } from './rabbit-server';
export { RABBIT_TRANSPORT } from './rabbit-transport';
export { BrokerInspection, BrokerSilentError } from './broker-inspection';
export { endConnection } from './end-connection';
export { BrokerLoginRefusedError } from './broker-login-refused-error';
export { expectedTopology, type ExpectedQueue } from './expected-topology';
export { type ListedQueue, ManagementApi, ManagementError } from './management-api';
export { ParkedMessages, type ChosenMessages, type ParkedMessage } from './parked-messages';
export { type BrokerObjects, removeTopology } from './remove-topology';

export { type Channel, type ChannelModel, type ConfirmChannel, type ConsumeMessage } from 'amqplib';
export { ConfirmedPublisher } from './confirmed-publisher';
export { declareBase, declareCommandQueue, declareWorkQueue } from './declare-topology';
export { Delivery } from './delivery';
export { KeptDeliveries } from './kept-deliveries';
export { ManualAckConsumer } from './manual-ack-consumer';
export { ParkedQueue, type ParkReason } from './parked-queue';
export { type PrefixOwner, readPrefixOwner, takePrefix } from './prefix-owner';
export { type Publication, type PublishOutcome, type PublishWatch } from './publication';
export { workQueueArguments } from './queue-arguments';
export { RabbitClient } from './rabbit-client';
export {
  findRabbitProblems,
  resolveRabbitOptions,
  type QueueType,
  type RabbitOptions,
  type ResolvedRabbitOptions,
} from './rabbit-options';
export { acknowledge, type Acknowledgment } from './acknowledge';
export { TopologyNames } from './topology-names';
export { withoutTransportHeaders } from './transport-headers';
export { RabbitContext } from './rabbit-context';
export { CommandHandlers } from './command-handlers';
export { DuplicateCommandHandlerError } from './duplicate-command-handler-error';
export { RabbitServer, type Verdict } from './rabbit-server';
export { RABBIT_TRANSPORT } from './rabbit-transport';
export { brokerDefinitions, type BrokerDefinitions } from './broker-definitions';

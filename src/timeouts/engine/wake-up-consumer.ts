import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import {
  type Channel,
  type Delivery,
  declareWorkQueue,
  KeptDeliveries,
  type ManualAckConsumer,
  type RabbitClient,
} from '../../rabbit';
import { isDatabaseWritable } from '../../database';
import { type TimeoutObservers } from '../model/outcomes';
import { decodeWakeUp, type WakeUp } from '../model/wake-up';
import { type TimeoutProcessor } from './timeout-processor';

interface ConsumerDependencies {
  readonly client: RabbitClient;
  readonly processor: TimeoutProcessor;
  readonly prefetch: number;
  readonly observers: TimeoutObservers;
  /** Lets delayed wake-ups reach the queue again after it was deleted and declared anew. */
  bind(channel: Channel, queue: string): Promise<void>;
  readonly dataSource: DataSource;
}

/** Hands the deliveries of one work queue to the processor of its kind, and acknowledges each when its work is durable. */
export class WakeUpConsumer {
  private readonly logger: Logger;
  private readonly consumer: ManualAckConsumer;
  /** Deliveries that could not be written, until the database is available again. */
  private readonly kept: KeptDeliveries;

  constructor(
    private readonly deps: ConsumerDependencies,
    clock: Clock,
  ) {
    const { client, processor } = deps;
    this.logger = new Logger(`WakeUps:${processor.kind}`);
    this.consumer = client.consume({
      queue: client.names.workQueue(processor.kind),
      prefetch: deps.prefetch,
      declare: async (channel) =>
        deps.bind(channel, await declareWorkQueue(channel, client.names, client.options, processor.kind)),
      onDelivery: (delivery) => this.take(delivery),
    });
    this.kept = new KeptDeliveries(clock, {
      consumer: this.consumer,
      isThere: () => isDatabaseWritable(deps.dataSource),
    });
    deps.observers.add({
      unavailable: (kind, error) => {
        if (kind === processor.kind) this.pause(error);
      },
    });
  }

  /** The broker delivers, and consuming is not paused because of the database. */
  get isConsuming(): boolean {
    return this.consumer.isConsuming;
  }

  private take(delivery: Delivery): void {
    const { processor, client, observers } = this.deps;
    const decoded = decodeWakeUp(delivery.body);
    if (decoded.type === 'invalid' || decoded.kind !== processor.kind) {
      observers.undecodable(processor.kind);
      const reason =
        decoded.type === 'invalid' ? decoded.reason : `kind "${decoded.kind}" came to the queue of "${processor.kind}"`;
      return void client.parked.park(delivery, { code: 'INVALID_WAKE_UP', reason });
    }
    this.work(delivery, { ...decoded.wakeUp, isRedelivered: delivery.isRedelivered });
  }

  private work(delivery: Delivery, wakeUp: WakeUp): void {
    this.deps.processor.add({
      wakeUp,
      finish: (result) => (result === 'finished' ? delivery.acknowledge('ack') : void this.again(delivery, wakeUp)),
    });
  }

  private async again(delivery: Delivery, wakeUp: WakeUp): Promise<void> {
    if (await this.kept.keep(delivery)) this.work(delivery, wakeUp);
  }

  /** The database is unavailable: taking more deliveries would only fill the process. */
  private pause(error: unknown): void {
    if (!this.consumer.isConsuming) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.logger.warn(`could not write; consuming again when the database answers: ${reason}`);
    this.kept.pause();
  }
}

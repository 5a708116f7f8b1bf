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
import { type TimeoutProcessor } from '../settling/timeout-processor';
import { type TimeoutObserver } from '../timeout-observer';
import { decodeWakeUp, type WakeUp } from './wake-up';

interface DispatcherDependencies {
  readonly client: RabbitClient;
  readonly worker: TimeoutProcessor;
  /** Routing key of the work queue: the kind, or a partition of it. */
  readonly partition: string;
  readonly prefetch: number;
  readonly observer: TimeoutObserver;
  /** Lets delayed wake-ups reach the queue again after it was deleted and declared anew. */
  bind(channel: Channel, queue: string): Promise<void>;
  readonly dataSource: DataSource;
}

/** Brings the deliveries of one work queue to the worker of its kind, and settles each when its work is durable. */
export class WakeUpConsumer {
  private readonly logger: Logger;
  private readonly consumer: ManualAckConsumer;
  /** What could not be written, until the database is there again. */
  private readonly kept: KeptDeliveries;

  constructor(
    private readonly deps: DispatcherDependencies,
    clock: Clock,
  ) {
    const { client, worker, partition } = deps;
    this.logger = new Logger(`Dispatcher:${partition}`);
    this.consumer = client.consume({
      queue: client.names.workQueue(partition),
      prefetch: deps.prefetch,
      declare: async (channel) =>
        deps.bind(channel, await declareWorkQueue(channel, client.names, client.options, partition)),
      onDelivery: (delivery) => this.take(delivery),
    });
    this.kept = new KeptDeliveries(clock, {
      consumer: this.consumer,
      isThere: () => isDatabaseWritable(deps.dataSource),
    });
    worker.onAway((error) => this.pause(error));
  }

  /** Wake-ups come, and are wanted. */
  get isConsuming(): boolean {
    return this.consumer.isConsuming;
  }

  private take(delivery: Delivery): void {
    const { worker, client, observer } = this.deps;
    const decoded = decodeWakeUp(delivery.body);
    if (decoded.type === 'invalid' || decoded.kind !== worker.kind) {
      observer.undecodable(worker.kind);
      const reason =
        decoded.type === 'invalid' ? decoded.reason : `kind "${decoded.kind}" came to the queue of "${worker.kind}"`;
      return void client.parked.park(delivery, { code: 'INVALID_WAKE_UP', reason });
    }
    this.work(delivery, { ...decoded.wakeUp, isRedelivered: delivery.isRedelivered });
  }

  private work(delivery: Delivery, wakeUp: WakeUp): void {
    this.deps.worker.add({
      wakeUp,
      finish: (result) => (result === 'finished' ? delivery.acknowledge('ack') : void this.again(delivery, wakeUp)),
    });
  }

  private async again(delivery: Delivery, wakeUp: WakeUp): Promise<void> {
    if (await this.kept.keep(delivery)) this.work(delivery, wakeUp);
  }

  /** The database is away: taking more deliveries would only fill the process. */
  private pause(error: unknown): void {
    if (!this.consumer.isConsuming) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.logger.warn(`could not write; consuming again when the database answers: ${reason}`);
    this.kept.pause();
  }
}

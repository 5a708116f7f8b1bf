import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';
import { type Channel, type Delivery, declareWorkQueue, type ManualAckConsumer, type RabbitClient } from '../rabbit';
import { type KindWorker } from './kind-worker';
import { type TimeoutObserver } from './timeout-observer';
import { decodeWakeUp } from './wake-up';

interface DispatcherPlan {
  readonly client: RabbitClient;
  readonly worker: KindWorker;
  /** Routing key of the work queue: the kind, or a partition of it. */
  readonly partition: string;
  readonly prefetch: number;
  readonly observer: TimeoutObserver;
  /** Lets delayed wake-ups reach the queue again after it was deleted and declared anew. */
  bind(channel: Channel, queue: string): Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Brings the deliveries of one work queue to the worker of its kind, and settles each when its work is durable. */
export class Dispatcher {
  private readonly logger: Logger;
  private readonly consumer: ManualAckConsumer;
  private pauseMs = FIRST_PAUSE_MS;
  private lastAwayMs = -Infinity;

  constructor(
    private readonly plan: DispatcherPlan,
    private readonly clock: Clock,
  ) {
    const { client, worker, partition } = plan;
    this.logger = new Logger(`Dispatcher:${partition}`);
    this.consumer = client.consume({
      queue: client.names.workQueue(partition),
      prefetch: plan.prefetch,
      declare: async (channel) =>
        plan.bind(channel, await declareWorkQueue(channel, client.names, client.options, partition)),
      onDelivery: (delivery) => this.take(delivery),
    });
    worker.onAway((error) => this.pause(error));
  }

  private take(delivery: Delivery): void {
    const { worker, client, observer } = this.plan;
    const decoded = decodeWakeUp(delivery.body);
    if (decoded.type === 'invalid' || decoded.kind !== worker.kind) {
      observer.undecodable(worker.kind);
      const reason =
        decoded.type === 'invalid' ? decoded.reason : `kind "${decoded.kind}" came to the queue of "${worker.kind}"`;
      return void client.parked.park(delivery, { code: 'INVALID_WAKE_UP', reason });
    }
    worker.add({
      wakeUp: decoded.wakeUp,
      finish: (result) => delivery.settle(result === 'finished' ? 'ack' : 'requeue'),
    });
  }

  /** The database is away: taking more deliveries would only turn them round in a hot loop. */
  private pause(error: unknown): void {
    if (!this.consumer.isConsuming) return;
    const sinceLast = this.clock.monotonic() - this.lastAwayMs;
    this.pauseMs = sinceLast > 2 * LONGEST_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
    this.lastAwayMs = this.clock.monotonic();
    const reason = error instanceof Error ? error.message : String(error);
    this.logger.warn(`could not write; consuming again in ${this.pauseMs} ms: ${reason}`);
    void this.consumer.pause(this.pauseMs);
  }
}

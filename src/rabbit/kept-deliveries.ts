import { type Clock, withTimeout } from '../clock';
import { type ManualAckConsumer, type Delivery } from './consumer';

interface KeptDeliveriesDependencies {
  readonly consumer: Pick<ManualAckConsumer, 'suspend' | 'resume' | 'stopped'>;
  /** Whether what the work needs is available, for example the database. */
  isThere(): Promise<boolean>;
}

interface Kept {
  readonly delivery: Delivery;
  resolve(isToBeTried: boolean): void;
}

const FIRST_PAUSE_MS = 250;

/** Also the longest delay from the end of the outage until work continues. */
const LONGEST_PAUSE_MS = 2_000;

/** No answer within this time counts as unavailable. */
const ANSWER_MS = 5_000;

/** The broker closes the channel of a consumer that acknowledges nothing for 30 min (consumer_timeout). */
const LONGEST_KEEP_MS = 20 * 60_000;

/**
 * Keeps deliveries unacknowledged in this process while something they need is unavailable. Up to RabbitMQ 4.2, each
 * returned message counts as a delivery, and it is parked after x-delivery-limit of them. The consumer is canceled
 * first and consumes again once the missing service answers, so an outage of any length costs a message at most one
 * delivery per instance.
 */
export class KeptDeliveries {
  private readonly kept = new Set<Kept>();
  private isWaiting = false;
  private pauseMs = FIRST_PAUSE_MS;
  private endedAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly deps: KeptDeliveriesDependencies,
  ) {}

  /** Whether the missing service answers within 5 s. */
  isThere(): Promise<boolean> {
    return withTimeout(this.clock, ANSWER_MS, this.deps.isThere(), false, this.deps.consumer.stopped);
  }

  /** Stops consuming until the missing service answers. */
  pause(): void {
    if (this.isWaiting || this.deps.consumer.stopped.aborted) return;
    this.isWaiting = true;
    void this.wait();
  }

  /** Pauses. Resolves to true if `delivery` should be tried again, to false if it was returned or lost. */
  keep(delivery: Delivery): Promise<boolean> {
    this.pause();
    if (!this.isWaiting) return Promise.resolve(this.requeue(delivery));
    return new Promise((resolve) => this.kept.add({ delivery, resolve }));
  }

  /** Like `keep`, for a problem of this delivery alone, such as a lock: waits `pauseMs` while the others continue. */
  async keepAlone(delivery: Delivery, pauseMs: number): Promise<boolean> {
    await this.clock.sleep(pauseMs, this.deps.consumer.stopped);
    return this.mayGoOn(delivery) || this.requeue(delivery);
  }

  /** False if it is acknowledged or older than 20 min, or if the consumer has stopped. It must then be returned. */
  mayGoOn({ isAcknowledged, receivedAt }: Delivery): boolean {
    const isOld = this.clock.monotonic() - receivedAt >= LONGEST_KEEP_MS;
    return !isAcknowledged && !isOld && !this.deps.consumer.stopped.aborted;
  }

  private async wait(): Promise<void> {
    const { consumer } = this.deps;
    // An outage that returns a moment after its end keeps the longer pause.
    if (this.clock.monotonic() - this.endedAt > 2 * LONGEST_PAUSE_MS) this.pauseMs = FIRST_PAUSE_MS;
    await consumer.suspend();
    do {
      this.release((delivery) => !this.mayGoOn(delivery));
      await this.clock.sleep(this.pauseMs, consumer.stopped);
      this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
    } while (!consumer.stopped.aborted && !(await this.isThere()));
    this.endedAt = this.clock.monotonic();
    this.isWaiting = false;
    this.release(() => true);
    await consumer.resume();
  }

  private release(isWanted: (delivery: Delivery) => boolean): void {
    for (const kept of this.kept) {
      if (!isWanted(kept.delivery)) continue;
      this.kept.delete(kept);
      kept.resolve(this.mayGoOn(kept.delivery) || this.requeue(kept.delivery));
    }
  }

  private requeue(delivery: Delivery): false {
    delivery.acknowledge('requeue');
    return false;
  }
}

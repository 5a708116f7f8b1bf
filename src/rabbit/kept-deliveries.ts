import { type Clock, withTimeout } from '../clock';
import { type Delivery } from './delivery';
import { type ManualAckConsumer } from './manual-ack-consumer';

interface KeptDeliveriesDependencies {
  readonly consumer: Pick<ManualAckConsumer, 'suspend' | 'resume' | 'stopped'>;
  /** Whether what the work needs is there, e.g. the database. */
  isThere(): Promise<boolean>;
}

interface Kept {
  readonly delivery: Delivery;
  resolve(isToBeTried: boolean): void;
}

const FIRST_PAUSE_MS = 250;
/** Also the longest delay from the end of the outage until work goes on. */
const LONGEST_PAUSE_MS = 2_000;
/** No answer within this time counts as away. */
const ANSWER_MS = 5_000;
/** The broker closes the channel of a consumer that settles nothing for 30 min (consumer_timeout). */
const LONGEST_KEEP_MS = 20 * 60_000;

/**
 * Deliveries that cannot be processed because something is away stay unsettled in this process: up to RabbitMQ 4.2 each one
 * that is given back counts as delivered, and after x-delivery-limit of those it is parked. The consumer is canceled
 * first and consumes again when what is missing answers, so an outage of any length costs a message at most one
 * delivery for each instance.
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

  /** Whether what the work needs answers, within 5 s. */
  isThere(): Promise<boolean> {
    return withTimeout(this.clock, ANSWER_MS, this.deps.isThere(), false, this.deps.consumer.stopped);
  }

  /** Stops consuming until what is missing answers. */
  pause(): void {
    if (this.isWaiting || this.deps.consumer.stopped.aborted) return;
    this.isWaiting = true;
    void this.wait();
  }

  /** Pauses. Resolves to true when `delivery` is to be tried again, to false when it was given back or lost. */
  keep(delivery: Delivery): Promise<boolean> {
    this.pause();
    if (!this.isWaiting) return Promise.resolve(this.giveBack(delivery));
    return new Promise((resolve) => this.kept.add({ delivery, resolve }));
  }

  /** As `keep`, for a problem of this delivery alone, e.g. a lock: waits `pauseMs` while the others go on. */
  async keepAlone(delivery: Delivery, pauseMs: number): Promise<boolean> {
    await this.clock.sleep(pauseMs, this.deps.consumer.stopped);
    return this.mayGoOn(delivery) || this.giveBack(delivery);
  }

  /** False when it is settled, is older than 20 min, or the consumer has stopped: then it is to be given back. */
  mayGoOn({ isSettled, receivedAt }: Delivery): boolean {
    const isOld = this.clock.monotonic() - receivedAt >= LONGEST_KEEP_MS;
    return !isSettled && !isOld && !this.deps.consumer.stopped.aborted;
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
      kept.resolve(this.mayGoOn(kept.delivery) || this.giveBack(kept.delivery));
    }
  }

  private giveBack(delivery: Delivery): false {
    delivery.settle('requeue');
    return false;
  }
}

import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock, type Timer, PollingLoop, ToldFailures } from '../../clock';
import { isDatabaseWritable, ownQuery } from '../../database';
import { messageOf } from '../../errors';
import {
  type Channel,
  type Delivery,
  declareWorkQueue,
  KeptDeliveries,
  type ManualAckConsumer,
  type RabbitClient,
} from '../../rabbit';
import { decodeWakeUp, type TimeoutObservers, type WakeUp, type WorkItem } from '../model/timeout';

/** What does the work of the wake-ups of one kind. */
interface WakeUpProcessor {
  readonly kind: string;
  add(item: WorkItem): void;
}

interface ConsumerDependencies {
  readonly client: RabbitClient;
  readonly processor: WakeUpProcessor;
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
  private readonly told: ToldFailures;

  constructor(
    private readonly deps: ConsumerDependencies,
    clock: Clock,
  ) {
    const { client, processor } = deps;
    this.logger = new Logger(`WakeUps:${processor.kind}`);
    this.told = new ToldFailures(clock);
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
      settled: (kind, rows) => {
        if (kind === processor.kind && rows.length > 0) this.told.worked();
      },
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
    if (this.told.isNew(error))
      this.logger.warn(`could not write; consuming again when the database answers: ${messageOf(error)}`);
    this.kept.pause();
  }
}

/** A correction of the clock during a wait is noticed after this time at the latest. */
const LONGEST_NAP_MS = 1_000;

interface BufferDependencies<T> {
  /** Due times are compared with this: epoch milliseconds by the database's clock. */
  nowMs(): number;
  /** Receives all items that have become due, earliest first. Must not throw. */
  onDue(items: T[]): void;
}

/**
 * Keeps items until they are due, accurate to the millisecond and never early. Uses one timer for any number of items.
 * Nothing in it is durable: an item is an unsettled delivery or a claimed row, which survives the process.
 */
export class DueBuffer<T> {
  private readonly heap = new DueHeap<T>();
  private timer: Timer | undefined;
  private wakesAtMs = Infinity;
  private isReleasing = false;

  constructor(
    private readonly clock: Clock,
    private readonly deps: BufferDependencies<T>,
  ) {}

  get size(): number {
    return this.heap.size;
  }

  /** Releases `item` at `dueAtMs`. Items that are due already are released together, right after the caller's turn. */
  add(item: T, dueAtMs: number): void {
    this.heap.push(item, dueAtMs);
    const nowMs = this.deps.nowMs();
    if (dueAtMs <= nowMs) this.releaseSoon();
    else if (dueAtMs < this.wakesAtMs) this.wakeFor(dueAtMs, nowMs);
  }

  /** Removes and returns all items, due or not, earliest first. Used at shutdown to return them to the broker. */
  drain(): T[] {
    this.disarm();
    return this.heap.takeUntil(Infinity);
  }

  private releaseSoon(): void {
    if (this.isReleasing) return;
    this.isReleasing = true;
    queueMicrotask(() => {
      this.isReleasing = false;
      this.release();
    });
  }

  private wakeFor(dueAtMs: number, nowMs: number): void {
    this.timer?.cancel();
    this.wakesAtMs = dueAtMs;
    // Rounded up, because timers drop fractions. Timers still fire up to 1 ms early, so release() checks the time
    // again.
    const napMs = Math.min(Math.max(Math.ceil(dueAtMs - nowMs), 1), LONGEST_NAP_MS);
    this.timer = this.clock.after(napMs, () => this.release());
  }

  private disarm(): void {
    this.timer?.cancel();
    this.wakesAtMs = Infinity;
  }

  private release(): void {
    const nowMs = this.deps.nowMs();
    const items = this.heap.takeUntil(nowMs);
    const nextMs = this.heap.earliestMs;
    // Set the timer first: even if onDue throws, the remaining items stay on time.
    if (nextMs === undefined) this.disarm();
    else this.wakeFor(nextMs, nowMs);
    if (items.length > 0) this.deps.onDue(items);
  }
}

interface Entry<T> {
  readonly dueAtMs: number;
  /** Order of arrival. Breaks ties, which makes the heap stable. */
  readonly sequence: number;
  readonly item: T;
}

/** A binary min-heap by due time, O(log n). Items with equal times leave in the order of their arrival. */
class DueHeap<T> {
  private readonly entries: Entry<T>[] = [];
  private sequence = 0;

  get size(): number {
    return this.entries.length;
  }

  get earliestMs(): number | undefined {
    return this.entries[0]?.dueAtMs;
  }

  push(item: T, dueAtMs: number): void {
    const entry = { dueAtMs, sequence: this.sequence++, item };
    let index = this.entries.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.entries[above];
      if (!parent || isBefore(parent, entry)) break;
      this.entries[index] = parent;
      index = above;
    }
    this.entries[index] = entry;
  }

  /** Removes and returns the items that are due at the given time, earliest first. */
  takeUntil(nowMs: number): T[] {
    const items: T[] = [];
    for (let top = this.entries[0]; top && top.dueAtMs <= nowMs; top = this.entries[0]) {
      items.push(top.item);
      this.removeTop();
    }
    return items;
  }

  private removeTop(): void {
    const last = this.entries.pop();
    if (!last || this.entries.length === 0) return;
    let index = 0;
    for (let child = this.earlierChild(index); child; child = this.earlierChild(index)) {
      if (isBefore(last, child.entry)) break;
      this.entries[index] = child.entry;
      index = child.index;
    }
    this.entries[index] = last;
  }

  private earlierChild(index: number): { entry: Entry<T>; index: number } | undefined {
    const leftIndex = 2 * index + 1;
    const left = this.entries[leftIndex];
    if (!left) return undefined;
    const right = this.entries[leftIndex + 1];
    return right && isBefore(right, left) ? { entry: right, index: leftIndex + 1 } : { entry: left, index: leftIndex };
  }
}

function isBefore<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.dueAtMs < b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.sequence < b.sequence);
}

const SYNC_MS = 10_000;

const SAMPLES = 3;

const RUN_LIMIT_MS = 60_000;

/**
 * The database's time, estimated in the process so that a held wake-up can be released at the right millisecond.
 * Deliberately never ahead: each sample assumes that the answer took no time to travel. What is due is still decided
 * by PostgreSQL's now() in the claim.
 */
export class DatabaseClock {
  private offset: number | undefined;
  private readonly loop: PollingLoop;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {
    this.loop = new PollingLoop(clock, {
      name: 'database-clock',
      runOnce: () => this.synchronize(),
      intervalMs: SYNC_MS,
      limitMs: RUN_LIMIT_MS,
    });
  }

  /** Synchronizes once, then every ten seconds (clocks drift, and are set). */
  async start(): Promise<void> {
    await this.synchronize();
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Epoch milliseconds, with fractions. */
  nowMs(): number {
    if (this.offset === undefined) throw new Error('DatabaseClock.start() was not awaited');
    return this.clock.monotonic() + this.offset;
  }

  private async synchronize(): Promise<void> {
    let best = -Infinity;
    for (let sample = 0; sample < SAMPLES; sample++) best = Math.max(best, await this.sample());
    this.offset = best;
  }

  private async sample(): Promise<number> {
    const [row] = await ownQuery<{ now: number }[]>(
      this.dataSource,
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    return Number(row?.now) - this.clock.monotonic();
  }
}

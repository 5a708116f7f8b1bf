import { type FactoryProvider, Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { PATTERN_EXTRAS_METADATA } from '@nestjs/microservices/constants';
import { ORDER_TIMEOUT_PROVIDERS } from '../../../src/module/order-timeout.providers';
import { RABBIT_TRANSPORT, type RabbitContext, RabbitServer } from '../../../src/rabbit';
import { Delivery } from '../../../src/rabbit/consumer';
import { dataSourceStub } from '../../support/data-source-stub';
import { ManualClock } from '../../support/manual-clock';
import { deliveryOn, recordingChannel } from './deliveries';

/** How long an order waits for locked stock: in its group, then alone. */
const HELD_MS = 2_200;
/** At this age of a delivery, the broker closes the channel and delivers all of its messages again. */
const CONSUMER_TIMEOUT_MS = 30 * 60_000;
const lockTimeout = (): Error => Object.assign(new Error('lock timeout'), { code: '55P03' });

interface Sent {
  readonly orderId: string;
  readonly sku: string;
}

interface Plan {
  readonly prefetch: number;
  onDelivery(delivery: Delivery): void;
}

class Handlers {
  @EventPattern<string>('sell', RABBIT_TRANSPORT)
  sell(): void {}
}

/** Delivers messages while fewer than the prefetch are unacknowledged, as the broker does. */
class FakeQueue {
  private readonly ready: Sent[] = [];
  private readonly unacknowledged = new Set<Delivery>();
  private plan: Plan = { prefetch: 0, onDelivery: () => undefined };

  constructor(private readonly clock: ManualClock) {}

  readonly names = { commands: 'commands' };
  readonly options = {};
  readonly replies = { problemOf: () => undefined, send: () => Promise.resolve(false) };

  consume(plan: Plan): unknown {
    this.plan = plan;
    return { stopped: new AbortController().signal };
  }

  get oldestMs(): number {
    return Math.max(0, ...[...this.unacknowledged].map(({ receivedAt }) => this.clock.monotonic() - receivedAt));
  }

  send(...sent: Sent[]): void {
    this.ready.push(...sent);
    this.deliver();
  }

  private deliver(): void {
    while (this.unacknowledged.size < this.plan.prefetch) {
      const sent = this.ready.shift();
      if (!sent) return;
      const delivery = this.deliveryOf(sent);
      this.unacknowledged.add(delivery);
      this.plan.onDelivery(delivery);
    }
  }

  private deliveryOf(sent: Sent): Delivery {
    const { message } = deliveryOn(recordingChannel().channel);
    const content = Buffer.from(JSON.stringify(sent));
    const onAcknowledged = (delivery: Delivery): void => {
      this.unacknowledged.delete(delivery);
      this.deliver();
    };
    // A quorum queue with a delivery limit puts returned messages in front.
    const channel = { ack: () => undefined, nack: () => void this.ready.unshift(sent) };
    const fields = { ...message.fields, routingKey: 'sell' };
    return new Delivery({ ...message, content, fields }, channel, onAcknowledged, this.clock.monotonic());
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('commands that wait for a locked row', () => {
  let clock: ManualClock;
  let queue: FakeQueue;
  let isLocked: boolean;
  let heldMs: number;
  let running: number;
  let mostAtOnce: number;
  let done: string[];

  beforeEach(() => {
    Logger.overrideLogger(false);
    clock = new ManualClock();
    queue = new FakeQueue(clock);
    isLocked = true;
    heldMs = HELD_MS;
    [running, mostAtOnce, done] = [0, 0, []];
    startServer();
  });

  function startServer(): void {
    const provider = ORDER_TIMEOUT_PROVIDERS.find(
      (one) => typeof one === 'object' && one.provide === RabbitServer,
    ) as FactoryProvider<RabbitServer>;
    const discovery = { getControllers: () => [{ metatype: Handlers }] };
    const dataSource = dataSourceStub({}, async () => [{ can_write: true }]);
    const server = provider.useFactory(queue, discovery, { dataSource }, clock) as RabbitServer;
    const method = Reflect.get(Handlers.prototype, 'sell') as object;
    const extras = Reflect.getMetadata(PATTERN_EXTRAS_METADATA, method) as Record<string, unknown>;
    server.addHandler('sell', sell as never, true, extras);
    server.listen(() => undefined);
  }

  async function sell({ orderId, sku }: Sent, context: RabbitContext): Promise<void> {
    if (sku === 'foreign') {
      await context.pause(1_000);
      throw lockTimeout();
    }
    running += 1;
    mostAtOnce = Math.max(mostAtOnce, running);
    try {
      if (sku === 'locked' && isLocked) {
        await clock.sleep(heldMs);
        throw lockTimeout();
      }
      done.push(`${orderId} ${sku}`);
    } finally {
      running -= 1;
    }
  }

  async function pass(ms: number, stepMs = 50): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      for (let turns = 0; turns < 3; turns++) await turn();
    }
  }

  const held = (count: number): Sent[] =>
    Array.from({ length: count }, (_, index) => ({ orderId: `held-${index}`, sku: 'locked' }));

  it('do not delay a command of another row, however many they are', async () => {
    queue.send(...held(300));
    await pass(90_000);
    expect(done).toEqual([]);
    queue.send({ orderId: 'free', sku: 'apple' });
    await pass(100);
    expect(done).toEqual(['free apple']);
    expect(mostAtOnce).toBeLessThanOrEqual(16);
  });

  it('do not delay a command that is tried again, however many of unknown orders are', async () => {
    const foreign = Array.from({ length: 300 }, (_, index) => ({ orderId: `foreign-${index}`, sku: 'foreign' }));
    queue.send(...foreign, { orderId: 'again', sku: 'locked' });
    await pass(10_000);
    isLocked = false;
    await pass(6_000);
    expect(done).toEqual(['again locked']);
  });

  it('are all done soon after the lock is released, those of one order in order of arrival', async () => {
    queue.send(...held(60), { orderId: 'held-0', sku: 'apple' });
    await pass(30_000);
    expect(done).toEqual([]);
    isLocked = false;
    await pass(8_000);
    expect(done).toHaveLength(61);
    expect(done.filter((one) => one.startsWith('held-0 '))).toEqual(['held-0 locked', 'held-0 apple']);
  });

  it('are returned before the broker closes their channel', async () => {
    heldMs = 2 * HELD_MS;
    queue.send(...held(1_100));
    let oldestMs = 0;
    for (let minute = 0; minute < 40; minute++) {
      await pass(60_000, 1_000);
      oldestMs = Math.max(oldestMs, queue.oldestMs);
    }
    expect(oldestMs).toBeLessThan(CONSUMER_TIMEOUT_MS - 60_000);
  });
});

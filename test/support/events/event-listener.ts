import { type ChannelModel, type ConsumeMessage } from 'amqplib';
import { type EventFact } from '../checks/facts';

interface EventBody {
  readonly id: string;
  readonly type: string;
  readonly orderId?: string;
  readonly orderVersion?: number;
  readonly reference?: string;
  readonly merchantAccount?: string;
  readonly key?: string;
}

/** Subscribes to every event with a queue of its own, as any program in any language would. */
export class EventListener {
  private readonly events = new Map<string, EventFact>();
  private total = 0;

  /** Before the first event can be sent, or it would be missed. */
  static async open(connection: ChannelModel, prefix: string): Promise<EventListener> {
    const listener = new EventListener();
    const channel = await connection.createChannel();
    const exchange = `${prefix}.events`;
    await channel.assertExchange(exchange, 'topic', { durable: true });
    const { queue } = await channel.assertQueue(`${prefix}.demo-listener`, { exclusive: true });
    await channel.bindQueue(queue, exchange, '#');
    await channel.consume(queue, (message) => message && listener.take(message), { noAck: true });
    return listener;
  }

  /** Different event ids so far. */
  get count(): number {
    return this.events.size;
  }

  /** Messages so far; above `count` by what came more than once. */
  get deliveries(): number {
    return this.total;
  }

  facts(): EventFact[] {
    return [...this.events.values()];
  }

  /** What has come to its queue, or was published where nobody listens. */
  take({ content }: Pick<ConsumeMessage, 'content'>): void {
    const { id, orderId = '', orderVersion = 0, ...body } = JSON.parse(content.toString('utf8')) as EventBody;
    const { type, reference, merchantAccount, key } = body;
    this.total += 1;
    const deliveries = (this.events.get(id)?.deliveries ?? 0) + 1;
    const about = { reference, merchantAccount, key };
    this.events.set(id, { id, type, orderId, orderVersion, deliveries, ...about });
  }
}

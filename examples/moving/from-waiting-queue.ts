import { type Channel, type GetMessage } from 'amqplib';

interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}

/**
 * Takes the messages out of a queue with a TTL, over a channel of its own. They are acknowledged when their deadlines are
 * stored. Without the property `timestamp`, nobody knows how long a message has waited, so its whole TTL starts again.
 */
export async function* fromWaitingQueue(
  channel: Channel,
  queue: string,
  ttlMs: number,
): AsyncGenerator<PendingOrder[]> {
  for (;;) {
    const messages = await takePage(channel, queue);
    const [last] = messages.slice(-1);
    if (last === undefined) return;
    yield messages.map((message) => ({ orderId: message.content.toString(), dueAt: dueAt(message, ttlMs) }));
    channel.ack(last, true);
  }
}

async function takePage(channel: Channel, queue: string): Promise<GetMessage[]> {
  const messages: GetMessage[] = [];
  while (messages.length < 1_000) {
    const message = await channel.get(queue);
    if (message === false) break;
    messages.push(message);
  }
  return messages;
}

function dueAt({ properties }: GetMessage, ttlMs: number): Date {
  const { timestamp, expiration } = properties as { timestamp?: number; expiration?: string };
  // The property has whole seconds, cut off.
  const publishedAt = timestamp === undefined ? Date.now() : (timestamp + 1) * 1_000;
  return new Date(publishedAt + Math.min(ttlMs, Number(expiration ?? ttlMs)));
}

import { type Channel } from '../../../src/rabbit';
import { type DelayRoute } from '../../../src/delay/delay-transport';

interface Binding {
  readonly destination: string;
  readonly isQueue: boolean;
  readonly pattern: string;
}

interface Queue {
  readonly ttlMs?: number;
  readonly deadLetterTo?: string;
}

/** How a message arrived at a queue without a TTL. */
export interface Arrival {
  readonly queue: string;
  readonly waitedMs: number;
  readonly hops: number;
}

/**
 * Topic routing, TTL queues, and dead-lettering, computed instead of waited for. Rejects references to missing objects.
 */
export class TopicBroker {
  readonly queues = new Map<string, Queue>();
  readonly exchanges = new Map<string, Binding[]>();

  /** The part of a channel that declares objects. */
  get channel(): Channel {
    const declaring = {
      assertExchange: async (name: string) => void this.exchanges.set(name, this.exchanges.get(name) ?? []),
      assertQueue: async (name: string, options: { messageTtl?: number; deadLetterExchange?: string } = {}) => {
        if (options.deadLetterExchange) this.mustExist(this.exchanges, options.deadLetterExchange);
        this.assertSame(name, options.messageTtl);
        this.queues.set(name, {
          ...(options.messageTtl !== undefined && { ttlMs: options.messageTtl }),
          ...(options.deadLetterExchange !== undefined && { deadLetterTo: options.deadLetterExchange }),
        });
      },
      bindQueue: async (queue: string, source: string, pattern: string) => {
        this.mustExist(this.queues, queue);
        this.bind(source, { destination: queue, isQueue: true, pattern });
      },
      bindExchange: async (destination: string, source: string, pattern: string) => {
        this.mustExist(this.exchanges, destination);
        this.bind(source, { destination, isQueue: false, pattern });
      },
    };
    return declaring as unknown as Channel;
  }

  /** Every queue that the message reaches. More than one means a duplicate, none means a loss. */
  publish({ exchange, routingKey }: Pick<DelayRoute, 'exchange' | 'routingKey'>): Arrival[] {
    return this.follow(exchange, routingKey.split('.'), 0, 0);
  }

  private follow(exchange: string, words: string[], waitedMs: number, hops: number): Arrival[] {
    const bindings = (this.exchanges.get(exchange) ?? []).filter(({ pattern }) => matches(pattern.split('.'), words));
    return bindings.flatMap(({ destination, isQueue }) => {
      if (!isQueue) return this.follow(destination, words, waitedMs, hops);
      const { ttlMs, deadLetterTo } = this.queues.get(destination) ?? {};
      if (ttlMs === undefined || !deadLetterTo) return [{ queue: destination, waitedMs, hops }];
      return this.follow(deadLetterTo, words, waitedMs + ttlMs, hops + 1);
    });
  }

  private bind(source: string, binding: Binding): void {
    const bindings = this.mustExist(this.exchanges, source);
    const isKnown = bindings.some((b) => b.destination === binding.destination && b.pattern === binding.pattern);
    if (!isKnown) bindings.push(binding);
  }

  private mustExist<T>(things: Map<string, T>, name: string): T {
    const thing = things.get(name);
    if (thing === undefined) throw new Error(`404 ${name} is not declared yet`);
    return thing;
  }

  private assertSame(name: string, ttlMs: number | undefined): void {
    const existing = this.queues.get(name);
    if (existing && existing.ttlMs !== ttlMs) throw new Error(`406 ${name} exists with another TTL`);
  }
}

/** AMQP topic matching: `*` matches one word, `#` any number of words. */
function matches(pattern: string[], words: string[]): boolean {
  const [head, ...rest] = pattern;
  if (head === undefined) return words.length === 0;
  if (head === '#') return words.some((_, n) => matches(rest, words.slice(n))) || matches(rest, []);
  return words.length > 0 && (head === '*' || head === words[0]) && matches(rest, words.slice(1));
}

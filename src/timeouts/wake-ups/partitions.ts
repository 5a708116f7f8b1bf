import { crc32 } from 'node:zlib';

/**
 * Spreads the wake-ups of a kind over several work queues by the hash of their keys: a quorum queue is one process on one
 * node, and the leaders of several are spread over the nodes. Every instance consumes all of them, so that none waits
 * for an instance that is down.
 */
export class Partitions {
  /** @param count work queues of each kind. */
  constructor(private readonly count: number) {}

  /** Routing keys of the kind's work queues. The first is the kind itself, as without partitions. */
  of(kind: string): string[] {
    return Array.from({ length: this.count }, (_, index) => routingKey(kind, index));
  }

  /** Routing key of the wake-ups for this key. */
  for(kind: string, key: string): string {
    return this.count === 1 ? kind : routingKey(kind, crc32(key) % this.count);
  }
}

/** A kind has no colon, so that no kind is another one's partition. */
function routingKey(kind: string, index: number): string {
  return index === 0 ? kind : `${kind}:${index}`;
}

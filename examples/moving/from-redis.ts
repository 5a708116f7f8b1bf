interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}
interface Redis {
  zscan(
    key: string,
    cursor: string,
    count: 'COUNT',
    size: number,
  ): Promise<[cursor: string, membersAndScores: string[]]>;
  scan(cursor: string, match: 'MATCH', pattern: string, count: 'COUNT', size: number): Promise<[string, string[]]>;
  pttl(key: string): Promise<number>;
}

/** Reads a sorted set whose members are ids of orders, and whose scores are deadlines in milliseconds. */
export async function* fromSortedSet(redis: Redis, key: string): AsyncGenerator<PendingOrder[]> {
  let cursor = '0';
  do {
    const [next, found] = await redis.zscan(key, cursor, 'COUNT', 1_000);
    const members = found.filter((_, index) => index % 2 === 0);
    yield members.map((orderId, index) => ({ orderId, dueAt: new Date(Number(found[2 * index + 1])) }));
    cursor = next;
  } while (cursor !== '0');
}

/** Reads keys such as `order:o-1`, which expire at the deadline. */
export async function* fromExpiringKeys(redis: Redis, prefix: string): AsyncGenerator<PendingOrder[]> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1_000);
    const waits = await Promise.all(keys.map((key) => redis.pttl(key)));
    const page = keys.map((key, index) => ({ orderId: key.slice(prefix.length), waitMs: waits[index] ?? -1 }));
    // Negative: the key has expired meanwhile, and your listener has heard of it, or it never expires.
    const pending = page.filter(({ waitMs }) => waitMs >= 0);
    yield pending.map(({ orderId, waitMs }) => ({ orderId, dueAt: new Date(Date.now() + waitMs) }));
    cursor = next;
  } while (cursor !== '0');
}

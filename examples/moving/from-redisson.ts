interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}
interface Redis {
  zscanBuffer(key: string, cursor: string, count: 'COUNT', size: number): Promise<[cursor: Buffer, found: Buffer[]]>;
}

/** Reads what waits in an `RDelayedQueue`. `decode` is the inverse of your codec. This one is that of `StringCodec`. */
export async function* fromRedisson(
  redis: Redis,
  queue: string,
  decode: (value: Buffer) => string = (value) => value.toString(),
): AsyncGenerator<PendingOrder[]> {
  let cursor = '0';
  do {
    const [next, found] = await redis.zscanBuffer(`redisson_delay_queue_timeout:{${queue}}`, cursor, 'COUNT', 1_000);
    const members = found.filter((_, index) => index % 2 === 0);
    yield members.map((member, index) => ({
      orderId: decode(valueOf(member)),
      dueAt: new Date(Number(found[2 * index + 1])),
    }));
    cursor = next.toString();
  } while (cursor !== '0');
}

/** Redisson puts a random id and the length in front of each value: 8 bytes each, and now the length of the id first. */
function valueOf(member: Buffer): Buffer {
  const idEnds = [1 + (member[0] ?? 0), 8].find((end) => isFollowedByLength(member, end));
  if (idEnds === undefined) throw new Error(`no element of an RDelayedQueue: ${member.toString('hex')}`);
  return member.subarray(idEnds + 8);
}

function isFollowedByLength(member: Buffer, at: number): boolean {
  return member.length >= at + 8 && member.readBigUInt64LE(at) === BigInt(member.length - at - 8);
}

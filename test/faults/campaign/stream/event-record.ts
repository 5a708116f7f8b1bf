import { type SeenEvent } from './broker-link';

/** Routing key and type of what the harness puts into the outbox for nobody to be able to send. */
export const UNSENDABLE = 'campaign.unsendable';

/** Which events have been seen: one id for each, and how many came with a second id. Copies of one id are fine. */
export class EventRecord {
  private readonly ids = new Map<string, string>();
  private readonly seenAt = new Map<string, number>();
  private readonly twice = new Map<string, number>();
  private copies = 0;
  private parkedCount = 0;

  take({ id, type, orderId, orderVersion }: SeenEvent): void {
    if (type === 'timeout.parked') this.parkedCount += 1;
    // Facts about money; they have no version of their own.
    if (type === 'timeout.parked' || type === 'order.payment_late' || type.startsWith(UNSENDABLE)) return;
    const key = keyOf(orderId, orderVersion, type);
    const known = this.ids.get(key);
    if (known === undefined) {
      this.ids.set(key, id);
      this.seenAt.set(key, Date.now());
    } else if (known === id) this.copies += 1;
    else this.twice.set(key, (this.twice.get(key) ?? 1) + 1);
  }

  /** When it came first, epoch milliseconds; undefined: never. */
  firstSeen(orderId: string, version: number, type: string): number | undefined {
    return this.seenAt.get(keyOf(orderId, version, type));
  }

  has(orderId: string, version: number, type: string): boolean {
    return this.ids.has(keyOf(orderId, version, type));
  }

  isTwice(orderId: string, version: number, type: string): boolean {
    return this.twice.has(keyOf(orderId, version, type));
  }

  get count(): number {
    return this.ids.size;
  }

  /** Copies under the same id: at least once. */
  get duplicates(): number {
    return this.copies;
  }

  get parked(): number {
    return this.parkedCount;
  }
}

function keyOf(orderId: string, version: number, type: string): string {
  return `${orderId} ${version} ${type}`;
}

import { type Agenda } from './agenda';
import { iso } from './iso';
import { type LedgerRefund } from './ledger-entry';

/** What a shop asks to refund. */
export interface RefundOrder {
  /** The shop's number of the refund: the same one refunds the money once. */
  readonly number: string;
  /** Minor units. */
  readonly amount: bigint;
}

/** What the shop gets; why not is in the ledger's `refunds`. */
export type RefundResult = 'accepted' | 'pending' | 'rejected';

interface Refund extends RefundOrder {
  readonly status: LedgerRefund['status'];
  readonly reason: LedgerRefund['reason'];
  readonly refundedAt?: number;
}

/** The refunds of one payment, by the shop's numbers. */
export class RefundBook {
  private readonly byNumber = new Map<string, Refund>();
  private rejections = 0;

  constructor(
    private readonly agenda: Agenda,
    private readonly completed: (at: number) => void,
  ) {}

  /** Refunded so far, in minor units. */
  get givenBack(): bigint {
    return this.sumOf('REFUNDED');
  }

  /** The next that many orders are rejected. */
  rejectNext(rejections: number): void {
    this.rejections = rejections;
  }

  /**
   * The same number again tells how the refund stands; one that was rejected may be tried again, one that failed not.
   * @param paid what can be refunded, in minor units; undefined: nothing was paid.
   */
  order(now: number, order: RefundOrder, paid: bigint | undefined, processingMs: number): RefundResult {
    const known = this.byNumber.get(order.number);
    if (known && known.status !== 'REJECTED') return known.amount === order.amount ? resultOf(known) : 'rejected';
    const reason = this.objection(order, paid);
    this.byNumber.set(order.number, { ...order, status: reason ? 'REJECTED' : 'PENDING', reason });
    if (reason) return 'rejected';
    if (processingMs > 0)
      this.agenda.plan(`refund ${order.number}`, now + processingMs, (at) => this.complete(order, at));
    else this.complete(order, now);
    return processingMs > 0 ? 'pending' : 'accepted';
  }

  /** Refunds at once a part, or what is left of what was paid. @returns false if there is not that much. */
  refundDirectly(now: number, paid: bigint, part?: bigint): boolean {
    const left = paid - this.promised;
    const amount = part ?? left;
    if (amount === 0n || amount > left) return false;
    this.complete({ number: `by-hand-${this.byNumber.size + 1}`, amount }, now);
    return true;
  }

  /** The money of the last completed refund comes back. @returns false if there is none. */
  fail(): boolean {
    const last = [...this.byNumber.values()].findLast(({ status }) => status === 'REFUNDED');
    if (!last) return false;
    const { number, amount } = last;
    this.byNumber.set(number, { number, amount, status: 'FAILED', reason: null });
    return true;
  }

  /** In the order they were asked for. */
  entries(): LedgerRefund[] {
    return [...this.byNumber.values()].map(({ number, amount, status, reason, refundedAt }) => ({
      ...{ number, refundId: `sim-refund-${number}`, amount: String(amount), status, reason },
      refundedAt: iso(refundedAt),
    }));
  }

  /** Refunded, or being refunded. */
  private get promised(): bigint {
    return this.givenBack + this.sumOf('PENDING');
  }

  private objection({ amount }: RefundOrder, paid: bigint | undefined): LedgerRefund['reason'] {
    if (paid === undefined) return 'not-paid';
    if (amount > paid - this.promised) return 'too-much';
    if (this.rejections === 0) return null;
    this.rejections -= 1;
    return 'scripted';
  }

  private complete(order: RefundOrder, at: number): void {
    this.byNumber.set(order.number, { ...order, status: 'REFUNDED', reason: null, refundedAt: at });
    this.completed(at);
  }

  private sumOf(status: LedgerRefund['status']): bigint {
    return [...this.byNumber.values()].reduce((sum, one) => (one.status === status ? sum + one.amount : sum), 0n);
  }
}

function resultOf({ status }: Refund): RefundResult {
  if (status === 'FAILED') return 'rejected';
  return status === 'REFUNDED' ? 'accepted' : 'pending';
}

import {
  type PaymentProvider,
  type Notification,
  type NotificationRequest,
  type PaidOutcome,
} from '../../src/payments';
import { type Random } from '../model/random';
import { jsonOf, type Kernel } from './kernel';

/** One payment of a buyer: what a bank has taken, and what it gave back. */
export interface BankPayment {
  readonly reference: string;
  readonly transactionId: string;
  readonly amount: bigint;
  readonly paidAt: number;
  refunded: bigint;
  readonly refunds: Map<string, { readonly amount: bigint; status: 'PENDING' | 'REFUNDED' | 'REJECTED' }>;
}

/** What a shop has asked a buyer to pay. */
export interface Intent {
  readonly reference: string;
  readonly amount: bigint;
  isClosed: boolean;
  readonly takesSeveral: boolean;
}

export interface BankTraits {
  /** Share of calls that fail before anything is done, and after everything is. */
  readonly failing: number;
  readonly losing: number;
  readonly pending: number;
  readonly rejecting: number;
}

/** Tells one instance of a payment; resolves to whether it was taken. */
export type Notify = (body: Buffer) => Promise<boolean>;

const SECOND = 1_000;

/** A payment provider with books of its own. It outlives the instances, and does not believe them. */
export class Bank {
  readonly payments: BankPayment[] = [];
  readonly intents = new Map<string, Intent>();
  isCalm = false;
  private ids = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly random: Random,
    private readonly traits: BankTraits,
    private readonly notify: Notify,
    readonly name = 'bank',
  ) {}

  open(reference: string, amount: bigint): Intent {
    const known = this.intents.get(reference);
    if (known) return known;
    const intent = { reference, amount, isClosed: false, takesSeveral: this.random.chance(0.2) };
    this.intents.set(reference, intent);
    return intent;
  }

  /** The buyer pays. Undefined: the bank refuses. */
  pay(reference: string, amount: bigint): BankPayment | undefined {
    const intent = this.intents.get(reference);
    const held = this.of(reference);
    if (!intent || intent.isClosed || (held.length > 0 && !intent.takesSeveral)) return undefined;
    const transactionId = `T${++this.ids}`;
    const payment = {
      reference,
      transactionId,
      amount,
      paidAt: this.kernel.time.now,
      refunded: 0n,
      refunds: new Map() as BankPayment['refunds'],
    };
    this.payments.push(payment);
    this.kernel.say(`the buyer pays ${amount} for ${reference} (${transactionId})`);
    void this.tell(payment);
    return payment;
  }

  /** A person sends a payment back, outside of the service. False: it is not there, or there is more than one. */
  wire(reference: string, transactionId: string | undefined): boolean {
    const named = this.of(reference).filter((one) => transactionId === undefined || isNamed(one, transactionId));
    const [payment, other] = named;
    if (!payment || other || payment.refunded > 0n) return false;
    if ([...payment.refunds.values()].some(({ status }) => status !== 'REJECTED')) return false;
    payment.refunded = payment.amount;
    this.kernel.say(`a person wires ${payment.amount} of ${payment.reference} (${payment.transactionId}) back`);
    return true;
  }

  adapter(): PaymentProvider {
    const call = <T>(what: string, work: () => T): Promise<T> => this.call(what, work);
    return {
      name: this.name,
      refundsInPart: true,
      query: ({ reference }) => call(`query of ${reference}`, () => this.query(reference)),
      close: ({ reference }) => call(`close of ${reference}`, () => this.close(reference)),
      refund: ({ attempt, refundNumber, amount, transactionId }) =>
        call(`refund of ${attempt.reference}`, () =>
          this.refund(attempt.reference, transactionId, refundNumber, amount),
        ),
      notifications: {
        read: ({ rawBody }: NotificationRequest) => Promise.resolve(this.read(rawBody)),
        reply: (verdict) => ({ status: verdict === 'accepted' ? 200 : verdict === 'later' ? 500 : 400, body: verdict }),
      },
      resilienceDefaults: { breakerThreshold: 1_000, ratePerSecond: 10_000 },
    };
  }

  private of(reference: string): BankPayment[] {
    return this.payments.filter((one) => one.reference === reference || one.transactionId === reference);
  }

  private async call<T>(what: string, work: () => T): Promise<T> {
    const fate = this.isCalm ? 1 : this.random.next();
    await this.kernel.turn(`bank: ${what}`);
    if (fate < this.traits.failing) throw new Error('the bank is not there');
    const answer = work();
    this.kernel.say(`bank: ${what} is ${jsonOf(answer)}`);
    await this.kernel.turn(`bank: answers the ${what}`);
    if (fate < this.traits.failing + this.traits.losing) throw new Error('the answer of the bank is lost');
    return answer;
  }

  private query(reference: string): Awaited<ReturnType<PaymentProvider['query']>> {
    const payments = this.of(reference);
    const [payment] = payments.filter(({ amount, refunded }) => refunded < amount);
    if (payment) return { type: 'PAID', ...this.paid(payment) };
    if (payments.length > 0) return { type: 'REFUNDED' };
    const intent = this.intents.get(reference);
    if (!intent) return { type: 'NOT_FOUND', providerNow: new Date(this.kernel.time.now) };
    return { type: intent.isClosed ? 'CLOSED' : 'OPEN' };
  }

  private close(reference: string): Awaited<ReturnType<PaymentProvider['close']>> {
    const intent = this.intents.get(reference);
    if (this.of(reference).some(({ amount, refunded }) => refunded < amount)) return { type: 'PAID' };
    if (!intent) return { type: 'NOT_FOUND' };
    if (intent.isClosed) return { type: 'ALREADY_CLOSED' };
    intent.isClosed = true;
    return { type: 'CLOSED' };
  }

  private refund(
    reference: string,
    transactionId: string | undefined,
    number: string,
    amount: bigint,
  ): Awaited<ReturnType<PaymentProvider['refund']>> {
    const all = this.of(reference);
    const payment =
      all.find((one) => one.refunds.has(number)) ?? all.find((one) => one.transactionId === transactionId) ?? all[0];
    if (!payment) return { type: 'REJECTED', reason: 'no such payment' };
    const known = payment.refunds.get(number);
    if (known) {
      if (known.status === 'PENDING' && (this.isCalm || this.random.chance(0.5))) this.finish(payment, known);
      return this.stateOf(number, known.status);
    }
    const pending = [...payment.refunds.values()].reduce(
      (sum, one) => sum + (one.status === 'PENDING' ? one.amount : 0n),
      0n,
    );
    if (payment.refunded + pending + amount > payment.amount) return { type: 'REJECTED', reason: 'more than was paid' };
    const refund: { amount: bigint; status: 'PENDING' | 'REFUNDED' | 'REJECTED' } = { amount, status: 'PENDING' };
    payment.refunds.set(number, refund);
    if (!this.random.chance(this.traits.pending)) this.finish(payment, refund);
    return this.stateOf(number, refund.status);
  }

  private finish(payment: BankPayment, refund: { readonly amount: bigint; status: string }): void {
    if (!this.isCalm && this.random.chance(this.traits.rejecting)) {
      refund.status = 'REJECTED';
      return;
    }
    refund.status = 'REFUNDED';
    payment.refunded += refund.amount;
  }

  private stateOf(
    number: string,
    status: 'PENDING' | 'REFUNDED' | 'REJECTED',
  ): Awaited<ReturnType<PaymentProvider['refund']>> {
    if (status === 'PENDING') return { type: 'PENDING' };
    return status === 'REFUNDED'
      ? { type: 'REFUNDED', refundId: number, evidence: {} }
      : { type: 'REJECTED', reason: 'the account is closed' };
  }

  private paid({ amount, paidAt, transactionId }: BankPayment): Omit<PaidOutcome, 'type'> {
    return { amount, currency: 'EUR', paidAt: new Date(paidAt), transactionId, evidence: {} };
  }

  private read(rawBody: Buffer): Notification {
    const { reference, transactionId } = JSON.parse(rawBody.toString()) as { reference: string; transactionId: string };
    const payment = this.payments.find((one) => one.transactionId === transactionId);
    if (!payment) return { type: 'REJECTED', reason: 'forged' };
    return { type: 'PAID', reference, ...this.paid(payment) };
  }

  /** Again and again, until somebody has taken it, at times twice. What a shop has not registered is told until it is taken. */
  private async tell({ reference, transactionId }: BankPayment): Promise<void> {
    const body = Buffer.from(JSON.stringify({ reference, transactionId }));
    for (let copies = this.random.pick([6, 1], [2, 2]); copies > 0; copies--) {
      for (let waitMs = this.random.pick([3, 0], [1, SECOND], [1, 20 * SECOND]); ; waitMs = 30 * SECOND) {
        await this.kernel.sleep(waitMs);
        if (await this.notify(body)) break;
      }
    }
  }
}

function isNamed({ reference, transactionId }: BankPayment, name: string): boolean {
  return name === transactionId || name === reference || name.startsWith('book-');
}

import {
  type PaymentAttemptRef,
  type PaymentProvider,
  type Notification,
  type NotificationRequest,
  type PaidOutcome,
} from '../../src/payments';
import { type Random } from '../model/random';
import {
  type BankPayment,
  type BankRefund,
  type Debit,
  type Expiry,
  type Intent,
  type Link,
  returnedOf,
} from './bank-books';
import { type BankTraits } from './bank-traits';
import { CURRENCY } from './habits';
import { jsonOf, type Kernel } from './kernel';
import { acting, real } from './virtual-time';

/** What the body of a notification says. */
interface News {
  readonly type: 'PAID' | 'STATUS_CHANGED' | 'CHARGEBACK';
  readonly transactionId: string;
}

/** Tells one instance of a payment; resolves to whether it was taken. */
export type Notify = (body: Buffer) => Promise<boolean>;

const SECOND = 1_000;

const TARDY_MS = 60 * SECOND;

/** A payment provider with books of its own. It outlives the instances, and does not believe them. */
export class Bank {
  readonly payments: BankPayment[] = [];
  /** Those that have failed. */
  readonly debits: Debit[] = [];
  readonly intents = new Map<string, Intent>();
  isCalm = false;
  /** Calls about this fail, as if it were not there. */
  away: RegExp | undefined;
  /** What it is about to do or to tell. */
  busy = 0;
  /** How long the answer to a refund takes, which comes back meanwhile; 0: it does as others do. */
  slowMs = 0;
  private ids = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly random: Random,
    private readonly traits: BankTraits,
    private readonly notify: Notify,
    readonly name = 'bank',
  ) {}

  open(link: Link, orderId: string, amount: bigint, isRegistered: boolean, expires: Expiry = {}): Intent {
    const known = this.intentOf(link);
    if (known) return known;
    const times = { openedAt: this.kernel.time.now, expiresAt: expires.timeExpire?.getTime() ?? Infinity };
    const what = { ...link, orderId, amount, isRegistered, takesSeveral: this.random.chance(this.traits.several) };
    const intent = { ...what, ...times, isScanned: !this.traits.scanned };
    this.intents.set(keyOf(link), intent);
    return intent;
  }

  /** Else an attempt of which the bank never hears is left to a person, after a day. */
  get expires(): boolean {
    return this.traits.scanned || this.traits.expiring;
  }

  /** Until when a buyer may pay what is asked for now. */
  drawExpiry(random: Random): Expiry {
    if (!this.expires) return {};
    return { timeExpire: new real.Date(Math.floor(this.kernel.time.now) + random.between(10 * SECOND, 60 * SECOND)) };
  }

  intentOf(link: Link): Intent | undefined {
    return this.intents.get(keyOf(link));
  }

  paymentsOf({ reference, account }: Link): BankPayment[] {
    const isNamed = (one: BankPayment): boolean => [one.reference, one.transactionId].includes(reference);
    return this.payments.filter((one) => one.account === account && isNamed(one));
  }

  get defaultAccount(): string | null {
    return this.traits.accounts[0] ?? null;
  }

  get accounts(): readonly string[] {
    return this.traits.accounts;
  }

  /** One of the merchant's accounts. */
  drawAccount(): string | null {
    return this.random.oneOf(this.traits.accounts) ?? null;
  }

  /** The buyer pays. Undefined: the bank refuses. */
  pay(link: Link, amount: bigint, currency = CURRENCY, isQuiet = false): BankPayment | undefined {
    const intent = this.intentOf(link);
    const held = this.paymentsOf(link);
    if (!intent || !this.takes(intent) || (held.length > 0 && !intent.takesSeveral)) return undefined;
    return this.take(link, intent, amount, currency, isQuiet);
  }

  /** @param isQuiet for now, it tells nobody */
  private take(link: Link, intent: Intent, amount: bigint, currency: string, isQuiet = false): BankPayment {
    intent.isScanned = true;
    const transactionId = `T${++this.ids}`;
    const payment = {
      ...link,
      orderId: intent.orderId,
      transactionId,
      ...{ amount, currency },
      paidAt: this.kernel.time.now,
      refunded: 0n,
      refunds: new Map() as BankPayment['refunds'],
    };
    this.payments.push(payment);
    this.kernel.say(`the buyer pays ${amount} ${currency} for ${nameOf(link)} (${transactionId})`);
    if (!isQuiet) this.begin(this.tellOf(intent, transactionId));
    if (this.random.chance(this.traits.disputing)) this.begin(this.dispute(payment));
    return payment;
  }

  /** A debit that it had announced fails. What a shop is told of it is not true. */
  refuse(link: Link): Debit {
    const intent = this.intentOf(link);
    if (intent) intent.closedAt ??= this.kernel.time.now;
    const debit = { ...link, transactionId: `D${++this.ids}`, isTold: false };
    this.debits.push(debit);
    this.kernel.say(`the debit of ${nameOf(link)} fails (${debit.transactionId})`);
    return debit;
  }

  tellRefused(debit: Debit): void {
    this.begin(
      this.tell({ type: 'STATUS_CHANGED', transactionId: debit.transactionId }, () => {
        debit.isTold = true;
      }),
    );
  }

  private begin(work: Promise<void>): void {
    this.busy += 1;
    void work.finally(() => (this.busy -= 1));
  }

  /** The confirmation of a close may be early: what a buyer had begun then still comes. */
  private takes({ closedAt, expiresAt }: Intent): boolean {
    if (expiresAt <= this.kernel.time.now) return false;
    if (closedAt === undefined) return true;
    return this.kernel.time.now - closedAt < TARDY_MS && this.random.chance(this.traits.tardy);
  }

  /** What a buyer had begun before the close. */
  private async takeLate(link: Link, intent: Intent): Promise<void> {
    await this.kernel.sleep(this.random.between(0, TARDY_MS / 2));
    if (this.paymentsOf(link).length === 0) this.take(link, intent, intent.amount, CURRENCY);
  }

  /** What a buyer had begun before the close comes now. */
  receive(link: Link, amount: bigint, type: News['type']): void {
    const intent = this.intentOf(link);
    if (!intent || this.paymentsOf(link).length > 0) return;
    this.announce(this.take(link, intent, amount, CURRENCY, true), type);
  }

  /** Tells of it now, if it has not yet. */
  announce(payment: BankPayment, type: News['type'] = 'PAID'): void {
    const { transactionId } = payment;
    this.begin(this.tell({ type, transactionId }, () => (payment.isTold = true)));
  }

  /** A person sends a payment back, outside of the service. Undefined: it is not there, or there is more than one. */
  wire(link: Link, transactionId: string | undefined, isElsewhere = false): BankPayment | undefined {
    const named = this.paymentsOf(link).filter((one) => transactionId === undefined || isNamed(one, transactionId));
    const [payment, other] = named;
    if (!payment || other || payment.refunded > 0n) return undefined;
    if ([...payment.refunds.values()].some(({ status }) => status !== 'REJECTED')) return undefined;
    payment.refunded = payment.amount;
    payment.isWired = true;
    payment.isWiredElsewhere = isElsewhere;
    this.kernel.say(`a person wires ${payment.amount} of ${payment.reference} (${payment.transactionId}) back`);
    return payment;
  }

  has(link: Link, transactionId: string | undefined): boolean {
    return this.paymentsOf(link).length > 0 || this.payments.some((one) => one.transactionId === transactionId);
  }

  isTakenBack(name: string): boolean {
    return this.payments.some(
      ({ reference, transactionId, isDisputed }) => isDisputed && [reference, transactionId].includes(name),
    );
  }

  wireAgain(payment: BankPayment): void {
    payment.refunded += payment.amount;
    this.kernel.say(`a person wires ${payment.amount} of ${payment.reference} (${payment.transactionId}) again`);
  }

  recall(payment: BankPayment): void {
    payment.refunded -= payment.amount;
    this.kernel.say(`a person recalls ${payment.amount} of ${payment.reference} (${payment.transactionId})`);
  }

  /** It does not remember that this was taken. */
  tellAgain(isMeant: (one: BankPayment) => boolean = () => this.random.chance(0.5)): void {
    for (const { transactionId, isDisputed } of this.payments.filter(isMeant))
      this.begin(this.tell({ type: isDisputed ? 'CHARGEBACK' : 'PAID', transactionId }));
  }

  adapter(): PaymentProvider {
    const call = <T>(what: string, work: () => T): Promise<T> => this.call(what, work);
    const { accounts } = this.traits;
    return {
      name: this.name,
      refundsInPart: true,
      ...(accounts.length > 0 && {
        defaultAccount: accounts[0],
        hasAccount: (name: string) => accounts.includes(name),
      }),
      query: (attempt) => call(`query of ${attempt.reference}`, () => this.query(this.linkOf(attempt))),
      close: (attempt) => call(`close of ${attempt.reference}`, () => this.close(this.linkOf(attempt))),
      refund: ({ attempt, refundNumber, amount, transactionId }) => {
        const link = this.linkOf(attempt);
        const isWarned = this.payments.some((one) => one.transactionId === transactionId && one.isToldDisputed);
        return call(`refund of ${attempt.reference}`, () =>
          this.refund(link, transactionId, refundNumber, amount, isWarned),
        );
      },
      notifications: {
        read: ({ rawBody }: NotificationRequest) => Promise.resolve(this.read(rawBody)),
        reply: (verdict) => ({ status: verdict === 'accepted' ? 200 : verdict === 'later' ? 500 : 400, body: verdict }),
      },
      resilienceDefaults: { breakerThreshold: 1_000, ratePerSecond: 10_000 },
    };
  }

  private linkOf({ reference, merchantAccount }: PaymentAttemptRef): Link {
    return { reference, account: merchantAccount ?? this.defaultAccount };
  }

  private async call<T>(what: string, work: () => T): Promise<T> {
    const fate = this.isCalm ? 1 : this.random.next();
    await this.kernel.turn(`bank: ${what}`);
    if (fate < this.traits.failing || this.away?.test(what) === true) throw new Error('the bank is not there');
    const answer = work();
    this.kernel.say(`bank: ${what} is ${jsonOf(answer)}`);
    if (what.startsWith('refund') && this.slowMs > 0) await this.hesitate();
    await this.kernel.turn(`bank: answers the ${what}`);
    if (fate < this.traits.failing + this.traits.losing) throw new Error('the answer of the bank is lost');
    return answer;
  }

  /** Once, and not as late as what instances wait for. */
  private async hesitate(): Promise<void> {
    const ms = this.slowMs;
    this.slowMs = 0;
    await acting.exit(() => this.kernel.sleep(ms));
  }

  private query(link: Link): Awaited<ReturnType<PaymentProvider['query']>> {
    const { now } = this.kernel.time;
    const payments = this.paymentsOf(link).filter(({ paidAt }) => this.isCalm || now - paidAt >= this.traits.staleMs);
    // To the bank, a disputed payment is still one.
    const [payment] = payments.filter((one) => returnedOf(one) < one.amount || one.isDisputed);
    if (payment) return { type: 'PAID', ...this.paid(this.stated(payment)) };
    if (payments.length > 0) return { type: 'REFUNDED' };
    const intent = this.intentOf(link);
    if (!intent?.isScanned) return { type: 'NOT_FOUND', providerNow: new Date(now) };
    if (intent.closedAt !== undefined || intent.expiresAt <= now) return { type: 'CLOSED' };
    if (!this.isCalm && this.random.chance(this.traits.racing))
      acting.exit(() => this.kernel.step('a buyer hurries', () => void this.pay(link, intent.amount)));
    return { type: 'OPEN' };
  }

  private stated(payment: BankPayment): BankPayment {
    payment.statedAt ??= this.kernel.time.now;
    return payment;
  }

  private close(link: Link): Awaited<ReturnType<PaymentProvider['close']>> {
    const intent = this.intentOf(link);
    const payment = this.paymentsOf(link).find((one) => returnedOf(one) < one.amount);
    if (payment && this.stated(payment)) return { type: 'PAID' };
    if (!intent?.isScanned) return { type: 'NOT_FOUND' };
    if (intent.closedAt !== undefined) return { type: 'ALREADY_CLOSED' };
    intent.closedAt = this.kernel.time.now;
    if (this.random.chance(this.traits.tardy)) acting.exit(() => this.begin(this.takeLate(link, intent)));
    return { type: 'CLOSED' };
  }

  private refund(
    link: Link,
    transactionId: string | undefined,
    number: string,
    amount: bigint,
    isWarned: boolean,
  ): Awaited<ReturnType<PaymentProvider['refund']>> {
    const all = this.paymentsOf(link);
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
    // A bank may return money that the buyer's bank has taken. Whoever was told of that must not ask for it.
    if (!isWarned && returnedOf(payment) + pending + amount > payment.amount)
      return { type: 'REJECTED', reason: 'more than was paid' };
    const refund: BankRefund = { amount, status: 'PENDING' };
    payment.refunds.set(number, refund);
    if (!this.random.chance(this.traits.pending)) this.finish(payment, refund);
    return this.stateOf(number, refund.status);
  }

  private finish(payment: BankPayment, refund: BankRefund): void {
    if (!this.isCalm && this.random.chance(this.traits.rejecting)) {
      refund.status = 'REJECTED';
      return;
    }
    refund.status = 'REFUNDED';
    payment.refunded += refund.amount;
    if (this.slowMs > 0) return acting.exit(() => this.begin(this.return(payment, refund, this.slowMs / 3)));
    // The bank goes on if whoever asked dies.
    if (!this.isCalm && this.random.chance(this.traits.returning))
      acting.exit(() => this.begin(this.return(payment, refund)));
  }

  /** The account of the buyer does not exist any more. */
  private async return(payment: BankPayment, refund: BankRefund, afterMs?: number): Promise<void> {
    // At times at once, before whoever asked has stored its answer.
    await this.kernel.sleep(afterMs ?? this.random.pick([1, 0], [2, this.random.between(SECOND, 60 * SECOND)]));
    if (this.isCalm && afterMs === undefined) return;
    refund.status = 'REJECTED';
    payment.refunded -= refund.amount;
    this.kernel.say(`a refund of ${refund.amount} of ${nameOf(payment)} (${payment.transactionId}) comes back`);
    await this.tell({ type: 'STATUS_CHANGED', transactionId: payment.transactionId });
  }

  private async dispute(payment: BankPayment): Promise<void> {
    await this.kernel.sleep(this.random.between(SECOND, 60 * SECOND));
    // Of several payments under one reference, the notification would not say which.
    const isTheOnly = this.paymentsOf(payment).length === 1;
    if (this.isCalm || !isTheOnly || payment.refunds.size > 0 || payment.refunded > 0n) return;
    payment.refunded = payment.amount;
    payment.isDisputed = true;
    this.kernel.say(`the buyer's bank takes ${nameOf(payment)} (${payment.transactionId}) back`);
    await this.tell({ type: 'CHARGEBACK', transactionId: payment.transactionId }, () => {
      payment.isToldDisputed = true;
    });
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

  private paid({ amount, currency, paidAt, transactionId }: BankPayment): Omit<PaidOutcome, 'type'> {
    return { amount, currency, paidAt: new Date(paidAt), transactionId, evidence: {} };
  }

  private read(rawBody: Buffer): Notification {
    const { type, transactionId } = JSON.parse(rawBody.toString()) as News;
    const isMeant = (one: { readonly transactionId: string }): boolean => one.transactionId === transactionId;
    const debit = this.debits.find(isMeant);
    if (debit) return { type: 'STATUS_CHANGED', ...namesOf(debit), evidence: {} };
    const payment = this.payments.find(isMeant);
    if (!payment) return { type: 'REJECTED', reason: 'forged' };
    const { amount, currency } = payment;
    const names = namesOf(payment);
    if (type === 'PAID') return { type, ...names, ...this.paid(payment) };
    if (type === 'STATUS_CHANGED') return { type, ...names, evidence: {} };
    return { type, ...names, amount, currency, evidence: {} };
  }

  /** Of what is not registered, and of a second payment, nobody would know otherwise. */
  private async tellOf({ isRegistered, takesSeveral, closedAt }: Intent, transactionId: string): Promise<void> {
    const isFound = isRegistered && !takesSeveral;
    // What comes after a close, the watch finds, too.
    if (isFound && this.random.chance(closedAt === undefined ? this.traits.mute : 0.5)) return;
    const type = isFound && this.random.chance(this.traits.vague) ? 'STATUS_CHANGED' : 'PAID';
    await this.tell({ type, transactionId }, () => {
      for (const payment of this.payments) if (payment.transactionId === transactionId) payment.isTold = true;
    });
  }

  /** Again and again, until somebody has taken it, at times twice. */
  private async tell(news: News, taken = (): unknown => undefined): Promise<void> {
    const body = Buffer.from(JSON.stringify(news));
    for (let copies = this.random.pick([6, 1], [2, 2]); copies > 0; copies--) {
      for (let waitMs = this.random.pick([3, 0], [1, SECOND], [1, 20 * SECOND]); ; waitMs = 30 * SECOND) {
        await this.kernel.sleep(waitMs);
        if (await this.notify(body)) break;
      }
      taken();
    }
  }
}

function isNamed({ reference, transactionId }: BankPayment, name: string): boolean {
  return name === transactionId || name === reference || name.startsWith('book-');
}

function keyOf({ reference, account }: Link): string {
  return `${account ?? ''} ${reference}`;
}

/** As a notification has them. */
function namesOf({ reference, account }: Link): { readonly reference: string; readonly merchantAccount?: string } {
  return { reference, ...(account !== null && { merchantAccount: account }) };
}

function nameOf({ reference, account }: Link): string {
  return account === null ? reference : `${reference} at ${account}`;
}

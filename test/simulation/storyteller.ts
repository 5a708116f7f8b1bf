import { type INestApplicationContext } from '@nestjs/common';
import { Inventory, type NewAttempt, type NewOrder, Orders, type ReportedPayment } from '../../src';
import { Database } from '../../src/database';
import { type UnmatchedPayment } from '../../src/public/orders';
import { type Bank } from './bank';
import { type BankPayment, type Link } from './bank-books';
import { CURRENCY, PRICE } from './habits';
import { type Stage } from './stage';

/** Goods that only stories have, and how many pieces of them. */
export const RARE_GOODS: ReadonlyMap<string, number> = new Map([
  ['S', 1],
  ['X', 3],
  ['Y', 3],
]);

type Lines = NewOrder['lines'];

export const lineOf = (sku: string): Lines => [{ sku, quantity: 1, unitAmount: PRICE }];

export const LINES = lineOf('S');

/** What people and shops do in stories, one after the other. */
export abstract class Storyteller {
  constructor(
    protected readonly stage: Stage,
    protected readonly bank: Bank,
  ) {}

  protected link(reference: string): Link {
    return { reference, account: this.bank.defaultAccount };
  }

  protected named({ reference, transactionId, ...payment }: BankPayment): BankPayment {
    const name = this.stage.random.pick([1, reference], [1, transactionId]);
    return { ...payment, transactionId, reference: name };
  }

  protected async place(id: string, lines: Lines = [], autoClose = true): Promise<boolean> {
    const order = this.draft(id, lines, autoClose);
    const placed = await this.stage.ask(`the shop places ${id}`, (orders) => orders.place(order));
    if (!placed || placed.outcome === 'rejected') return false;
    this.stage.lines.set(id, lines ?? []);
    return true;
  }

  protected draft(id: string, lines: Lines, autoClose: boolean): NewOrder {
    return { id, merchantId: 'default', amount: PRICE, currency: CURRENCY, lines, autoClose };
  }

  /** In a transaction of a host, which does not wait for others. Then the shop asks what has become of it. */
  protected async placeInOwn(id: string): Promise<void> {
    const { stage } = this;
    const order = this.draft(id, LINES, true);
    await stage.kernel.turn(`a host places ${id}`);
    await stage.someone
      ?.request((app) => app.get(Database).dataSource.transaction((tx) => app.get(Orders).place(order, { tx })))
      .catch((error: unknown) => stage.kernel.say(`a host has not placed ${id}: ${(error as Error).message}`));
    await this.place(id, LINES);
  }

  protected async offer(id: string, lines: Lines = [], isLong = true): Promise<Link | undefined> {
    const link = this.link(`${id}-r1`);
    if (!(await this.place(id, lines))) return undefined;
    if (isLong) await this.extend(id);
    const expires = this.bank.drawExpiry(this.stage.random);
    if (!(await this.register(id, link, expires))) return undefined;
    this.bank.open(link, id, PRICE, true, expires);
    return link;
  }

  /** Money under a reference that no order has registered, once people read of it. */
  protected async payUnregistered(link: Link): Promise<{ payment: BankPayment; row: UnmatchedPayment } | undefined> {
    this.bank.open(link, 's1', PRICE, false);
    const payment = this.bank.pay(link, PRICE);
    const row = payment && (await this.find(payment, ['unknown-order']));
    return row && { payment, row };
  }

  /** A half of the price of an order, once people read of it. */
  protected async payHalf(): Promise<BankPayment | undefined> {
    const link = await this.offer('s1');
    const part = link && this.bank.pay(link, PRICE / 2n);
    return part && (await this.find(part, ['amount-mismatch'])) ? part : undefined;
  }

  /** The bank says that there is news of a payment. */
  protected hint({ transactionId }: BankPayment): Promise<unknown> {
    const rawBody = Buffer.from(JSON.stringify({ type: 'STATUS_CHANGED', transactionId }));
    return this.stage.ask(`the bank hints at ${transactionId}`, (orders) =>
      orders.handleWebhook(this.bank.name, { headers: {}, rawBody }),
    );
  }

  protected async refund({ reference }: BankPayment): Promise<void> {
    this.stage.touched.add('s1');
    const refund = { orderId: 's1', provider: this.bank.name, reference, reason: 'the buyer asked' };
    await this.stage.ask('a person refunds a part of s1', (orders) => orders.refund(refund));
  }

  protected async extend(orderId: string): Promise<void> {
    await this.stage.ask(`the shop extends ${orderId}`, (orders) => orders.extendDeadline({ orderId, byMs: 60_000 }));
  }

  protected deliver(sku = 'S'): Promise<unknown> {
    const set = (_orders: unknown, app: INestApplicationContext): Promise<unknown> =>
      app.get(Inventory).setStock(app.get(Database).dataSource.manager, sku, RARE_GOODS.get(sku) ?? 0);
    return this.stage.ask('rare goods arrive', set, false);
  }

  protected async register(
    orderId: string,
    { reference, account }: Link,
    more: Partial<NewAttempt> = this.bank.drawExpiry(this.stage.random),
  ): Promise<boolean> {
    const named = account === null ? {} : { merchantAccount: account };
    const attempt = { orderId, provider: this.bank.name, reference, ...named, ...more };
    const what = `the shop registers ${reference} for ${orderId}${more.handedOver === false ? ', not handed over' : ''}`;
    const result = await this.stage.ask(what, (orders) => orders.registerAttempt(attempt));
    const isRegistered = result !== undefined && result.outcome !== 'rejected';
    if (isRegistered) this.stage.registered.add(reference);
    return isRegistered;
  }

  protected async report(orderId: string, { provider = this.bank.name, ...told }: Report): Promise<void> {
    const { reference, transactionId, amount, account = null } = told;
    const named = { ...(transactionId && { transactionId }), ...(account !== null && { merchantAccount: account }) };
    const payment: ReportedPayment = { orderId, provider, reference, amount, currency: CURRENCY, ...named };
    const what = `the shop reports ${reference} (${transactionId ?? 'no id'}) for ${orderId}`;
    const result = await this.stage.ask(what, (orders) => orders.markPaid(payment));
    if (result && ['paid', 'already-paid'].includes(result.outcome)) this.stage.paid.add(orderId);
  }

  /** What a person reads of the payment, if it comes within half a minute. */
  protected async find(
    { reference, transactionId }: Pick<BankPayment, 'reference' | 'transactionId'>,
    reasons: readonly string[],
  ): Promise<UnmatchedPayment | undefined> {
    const names = [reference, transactionId];
    const isIts = (row: UnmatchedPayment): boolean => reasons.includes(row.reason) && names.includes(row.reference);
    for (let tries = 0; tries < 15; tries++) {
      await this.stage.pause(1, 4);
      const rows = (await this.stage.ask('a person looks', (orders) => orders.unmatched.list(), false)) ?? [];
      const row = rows.find(isIts);
      if (row) return row;
    }
    return undefined;
  }

  /** From the account of another bank, so that this one still has the money. */
  protected async settle({ id }: UnmatchedPayment, { orderId, transactionId, ...link }: BankPayment): Promise<boolean> {
    const wired = this.bank.wire(link, transactionId, true);
    if (!wired) return false;
    this.stage.touched.add(orderId);
    const settled = await this.stage.ask(`a person settles ${transactionId}`, (orders) =>
      orders.unmatched.settle({ id, reason: 'wired' }),
    );
    if (settled?.outcome === 'settled') return true;
    this.bank.recall(wired);
    return false;
  }

  protected async reaches(orderId: string, status: string): Promise<boolean> {
    for (let tries = 0; tries < 60; tries++) {
      await this.stage.pause(4, 16);
      const order = await this.stage.ask(`the page of ${orderId}`, (orders) => orders.get(orderId), false);
      if (order?.status === status) return true;
      if (order?.status !== 'PENDING' && order?.status !== 'CLOSING') return false;
    }
    return false;
  }
}

type Report = Pick<BankPayment, 'reference' | 'amount'> &
  Partial<Pick<BankPayment, 'account' | 'transactionId'>> & { readonly provider?: string };

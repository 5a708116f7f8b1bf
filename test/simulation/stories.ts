import { type EntityManager } from 'typeorm';
import { Orders } from '../../src';
import { Database } from '../../src/database';
import { type BankPayment, type Expiry } from './bank-books';
import { CURRENCY, PRICE } from './habits';
import { host } from './listener';
import { lineOf, LINES, Storyteller } from './storyteller';

/** Money that came so long before an order is not for it. */
const LONG_MS = 16 * 60_000;

/**
 * What costs money only if several rare things follow each other: told in this order, beside everything else that happens in
 * the world. Their orders are `s1` to `s6`.
 */
export class Stories extends Storyteller {
  send(): void {
    const { story } = this.stage;
    if (story !== undefined && story !== 'steady' && story !== 'ownTimeouts') this.stage.send(() => this[story]());
  }

  /** A payment of a reference that nobody has registered is paid back. Then, its order registers it. */
  private async settledBefore(): Promise<void> {
    const link = this.link('s1-r1');
    if (!(await this.place('s1'))) return;
    await this.extend('s1');
    const stray = await this.payUnregistered(link);
    if (!stray || !(await this.settle(stray.row, stray.payment))) return;
    await this.stage.pause(0, 4);
    if (!(await this.register('s1', link))) return;
    const intent = this.bank.intentOf(link);
    if (intent) intent.isRegistered = true;
    this.stage.done.add('s1');
  }

  /** A report is settled, because the bank has no such payment. Then, the buyer pays. */
  private async settledReport(): Promise<void> {
    const { stage, bank } = this;
    const link = await this.offer('s1');
    if (!link) return;
    await this.report('s1', { reference: link.reference, amount: PRICE / 2n });
    const row = await this.find({ ...link, transactionId: link.reference }, ['amount-mismatch']);
    if (!row || bank.has(link, undefined)) return;
    stage.touched.add('s1');
    await stage.ask('a person settles a report', (orders) =>
      orders.unmatched.settle({ id: row.id, reason: 'there is no such payment' }),
    );
    bank.pay(link, PRICE);
  }

  /** An order registers a reference under which money came long before it, and a person closes it. */
  private async oldMoney(): Promise<void> {
    const { stage } = this;
    const link = this.link('s1-r1');
    const stray = await this.payUnregistered(link);
    if (!stray) return;
    const { payment } = stray;
    await stage.kernel.sleep(LONG_MS);
    if (!(await this.place('s1')) || !(await this.register('s1', link))) return;
    stage.touched.add('s1');
    const close = { orderId: 's1', reason: 'asked', attemptsAreClosed: true };
    const result = await stage.ask('a person closes s1', (orders) => orders.close(close));
    // Another person may have settled it meanwhile.
    const waits = payment.isWired !== true;
    if (waits && result?.outcome === 'closed') stage.mishaps.push(`s1 was closed while ${payment.transactionId} waits`);
  }

  /** A part of the price goes back, and is reported again. */
  private async refundedPart(): Promise<void> {
    const part = await this.payHalf();
    if (!part) return;
    await this.refund(part);
    await this.stage.pause(0, 4);
    await this.report('s1', part);
  }

  /** A shop claims what another order has, and a person believes it. */
  private async takenTwice(): Promise<void> {
    const { stage, bank } = this;
    const link = await this.offer('s1');
    if (!link || !(await this.place('s2'))) return;
    await this.extend('s2');
    const payment = bank.pay(link, PRICE);
    if (!payment) return;
    await stage.pause(1, 20);
    await this.report(stage.random.pick([1, 's2'], [1, 'nobody']), this.named(payment));
    const row = await this.find(payment, ['attempt-mismatch', 'unknown-order']);
    if (!row) return;
    const assignment = { id: row.id, orderId: 's2', reason: 'the shop says so' };
    const isKnown = payment.isTold && !stage.touched.has('s1');
    stage.touched.add('s1').add('s2');
    const result = await stage.ask('a person assigns it to s2', (orders) => orders.unmatched.assign(assignment));
    if (isKnown && result?.outcome === 'assigned') stage.mishaps.push(`${payment.reference} of s1 was assigned to s2`);
  }

  /** Before the bank says a word, a shop claims a payment for another order. */
  private async claimedFirst(): Promise<void> {
    const { stage, bank } = this;
    const link = await this.offer('s1');
    if (!link || !(await this.place('s2'))) return;
    const payment = bank.pay(link, PRICE, CURRENCY, true);
    if (!payment) return;
    await this.report('s2', { ...payment, reference: 'made-up-s' });
    await stage.pause(0, 10);
    bank.announce(payment);
  }

  /** A shop claims a payment for two orders, at once. */
  private async claimedTwice(): Promise<void> {
    const { stage, bank } = this;
    const link = this.link('s0');
    if (!(await this.place('s1')) || !(await this.place('s2'))) return;
    bank.open(link, 's1', PRICE, false);
    const payment = bank.pay(link, PRICE, CURRENCY, stage.random.chance(0.5));
    if (!payment) return;
    const isSame = stage.random.chance(0.5);
    for (const id of ['s1', 's2'])
      stage.send(() => this.report(id, { ...payment, reference: isSame ? payment.transactionId : `made-up-${id}` }));
    await stage.pause(2, 20);
    bank.announce(payment);
  }

  /** When its goods are sold to somebody else, the buyer of an order that has ended pays, more or less than its price. */
  private async late(): Promise<void> {
    const { stage, bank } = this;
    const { random } = stage;
    const isScarce = random.chance(0.6);
    await this.deliver();
    const link = await this.offer('s1', isScarce ? LINES : [], false);
    if (!link || !(await this.reaches('s1', 'CLOSED'))) return;
    if (isScarce && !(await this.place('s2', LINES))) return;
    if (isScarce) await this.report('s2', { reference: 's2-cash', provider: 'cash', amount: PRICE });
    await stage.pause(0, random.pick([1, 4], [1, 240]));
    bank.receive(link, random.pick([1, PRICE], [1, 2n * PRICE]), random.chance(0.5) ? 'STATUS_CHANGED' : 'PAID');
  }

  /** Everybody wants the last piece, at once. */
  private async rush(): Promise<void> {
    const { stage } = this;
    await this.deliver();
    for (const id of ['s1', 's2', 's3', 's4']) stage.send(() => this.placeInOwn(id));
  }

  /** What is offered to the buyer only when the order is being closed. */
  private async handedOverLate(): Promise<void> {
    const { stage, bank } = this;
    const link = this.link('s1-r1');
    if (!(await this.place('s1'))) return;
    const now = (): number => stage.kernel.time.now;
    const until = (): Expiry => ({ timeExpire: new Date(Math.floor(now()) + 90_000) });
    if (!(await this.register('s1', link, { handedOver: false, ...until() }))) return;
    if (!(await this.reaches('s1', 'CLOSING'))) return;
    const began = now();
    const expires = until();
    if (!(await this.register('s1', link, { handedOver: true, ...expires }))) return;
    stage.handedOver.push({ orderId: 's1', reference: link.reference, began });
    bank.open(link, 's1', PRICE, true, expires);
  }

  /** The shop says that all has come, the bank that half of it has. Then comes the rest. */
  private async halves(): Promise<void> {
    const { stage, bank } = this;
    const first = await this.offer('s1');
    const second = first && this.link('s1-r2');
    if (!second || !(await this.register('s1', second))) return;
    bank.open(second, 's1', PRICE, true);
    await this.report('s1', { reference: first.reference, amount: PRICE });
    const part = bank.pay(first, PRICE / 2n, CURRENCY, true);
    if (part) bank.announce(part);
    await stage.pause(0, 60);
    const rest = bank.pay(second, PRICE / 2n, CURRENCY, true);
    if (rest) bank.announce(rest);
  }

  /** The shop has the money of an order without a deadline, and says so, before it places the order. */
  private async paidBefore(): Promise<void> {
    const stray = await this.payUnregistered(this.link('s1-e'));
    if (!stray) return;
    await this.report('s1', stray.payment);
    await this.stage.pause(0, 4);
    await this.place('s1', [], false);
  }

  /** A shop reports a payment by its id alone, and then the bank tells of it under its reference. */
  private async otherName(): Promise<void> {
    const { stage, bank } = this;
    const link = await this.offer('s1');
    const payment = link && bank.pay(link, PRICE, CURRENCY, true);
    if (!payment) return;
    await this.report('s1', { ...payment, reference: payment.transactionId });
    await stage.pause(0, 10);
    bank.announce(payment);
  }

  /** One reference at two accounts of the merchant. The buyer pays one of them, and the bank does not say so. */
  private async twoAccounts(): Promise<void> {
    const { bank } = this;
    const reference = 's1-r1';
    const links = bank.accounts.map((account) => ({ reference, account }));
    if (!(await this.place('s1'))) return;
    for (const link of links) {
      const expires = bank.drawExpiry(this.stage.random);
      if (!(await this.register('s1', link, expires))) return;
      bank.open(link, 's1', PRICE, true, expires);
    }
    const link = this.stage.random.oneOf(links);
    if (link) bank.pay(link, PRICE, CURRENCY, true);
  }

  /** A refund comes back, and the bank tells that before it answers whoever has asked for it. */
  private async returnedAtOnce(): Promise<void> {
    const part = await this.payHalf();
    if (!part) return;
    this.bank.slowMs = 3_000;
    await this.refund(part);
  }

  /** The bank does not answer after a day without an instance, in which the deadline was. */
  private async afterADay(): Promise<void> {
    const link = await this.offer('s1');
    if (link) this.bank.away = /s1-r1/;
  }

  /** PostgreSQL lets no order change its state; see trouble.ts. */
  private async withoutRight(): Promise<void> {
    await this.offer('s1', [], false);
  }

  /** A host catches that its code has failed, and commits what was there before. */
  private async goesOn(): Promise<void> {
    const { stage } = this;
    const order = this.draft('s1', [], true);
    const work = async (orders: Orders, tx: EntityManager): Promise<void> => {
      await orders.place(order, { tx });
      host.refuses = true;
      stage.uncanceled.add('s1');
      const result = await orders.cancel({ orderId: 's1' }, { tx }).catch(() => undefined);
      if (result) stage.uncanceled.delete('s1');
      host.refuses = false;
    };
    await stage.kernel.turn('a host places and cancels s1');
    await stage.someone
      ?.request((app) => app.get(Database).dataSource.transaction((tx) => work(app.get(Orders), tx)))
      .catch(({ message }: Error) => {
        stage.kernel.say(`a host has failed: ${message}`);
        // It has awaited all.
        if (message.includes('a call still runs')) stage.mishaps.push(`s1 was not placed: ${message}`);
      });
    host.refuses = false;
    await this.place('s1');
  }

  /** Orders are canceled in the moment in which their attempts are registered. */
  private async lastMoment(): Promise<void> {
    const { stage, bank } = this;
    for (const id of ['s1', 's2', 's3', 's4']) {
      if (!(await this.place(id))) continue;
      stage.send(async () => {
        const canceled = await stage.ask(`the buyer cancels ${id}`, (orders) => orders.cancel({ orderId: id }));
        if (canceled?.outcome === 'cancelled') stage.canceled.add(id);
      });
      stage.send(async () => {
        const link = this.link(`${id}-r1`);
        const expires = bank.drawExpiry(stage.random);
        if (await this.register(id, link, expires)) bank.open(link, id, PRICE, true, expires);
      });
      await stage.pause(1, 4);
    }
  }

  /** Long after the end of an order, a payment comes that an instance without the bank hears of, too. */
  private async stranger(): Promise<void> {
    const link = await this.offer('s1', [], false);
    if (!link || !(await this.reaches('s1', 'CLOSED'))) return;
    await this.stage.pause(600, 900);
    this.bank.receive(link, PRICE, 'STATUS_CHANGED');
  }

  /** The shop says that all has come, the bank that half of it has. A person pays that back, and the order stays PAID. */
  private async settledPart(): Promise<void> {
    const { bank } = this;
    const link = await this.offer('s1');
    if (!link) return;
    await this.report('s1', { reference: link.reference, amount: PRICE });
    const part = bank.pay(link, PRICE / 2n, CURRENCY, true);
    if (!part) return;
    bank.announce(part);
    const row = await this.find(part, ['amount-mismatch', 'attempt-mismatch']);
    if (row) await this.settle(row, part);
  }

  /** Of orders that need one of two sorts of goods, payments are told at one instant, to two instances. */
  private async crossing(): Promise<void> {
    const { stage, bank } = this;
    for (const sku of ['X', 'Y']) await this.deliver(sku);
    const payments: BankPayment[] = [];
    for (const [index, sku] of ['X', 'Y', 'Y', 'X', 'X', 'Y'].entries()) {
      const link = await this.offer(`s${index + 1}`, lineOf(sku));
      const payment = link && bank.pay(link, PRICE, CURRENCY, true);
      if (payment) payments.push(payment);
    }
    for (let tries = 0; tries < 20 && stage.instances.filter(({ answers }) => answers).length < 2; tries++)
      await stage.pause(1, 4);
    for (const payment of payments) stage.send(() => this.hint(payment));
  }

  /** For a while, a listener catches that its statement has failed. Meanwhile, money comes that no order has registered. */
  private async spoiled(): Promise<void> {
    const { bank } = this;
    const link = this.link('s1-r1');
    if (!(await this.place('s1'))) return;
    bank.open(link, 's1', PRICE, false);
    host.spoils = true;
    bank.pay(link, PRICE);
    await this.stage.pause(2, 20);
    host.spoils = false;
  }
}

import { type INestApplicationContext } from '@nestjs/common';
import { Inventory, type NewAttempt, type NewOrder, type PlaceResult, type ReportedPayment } from '../../src';
import { Database } from '../../src/database';
import { type ErasePersonalDataResult, type UnmatchedPayment } from '../../src/public/orders';
import { ParkedTimeouts, TimeoutEngine } from '../../src/public/timeouts';
import { type Bank } from './bank';
import { type BankPayment, type Link } from './bank-books';
import { Clerk, WIRE, wireBack } from './clerk';
import { CURRENCY, MANY, PRICE } from './habits';
import { Host } from './host';
import { type Stage } from './stage';

/** How often somebody asks for goods that are sold out. */
const PATIENCE = 8;

const KINDS = ['order.payment', 'payment.refund', 'payment.reconciliation', 'order.late-watch'];

/** Everybody who does something. */
export class People {
  private readonly orders: number;
  private readonly shop: Shop;

  constructor(
    private readonly stage: Stage,
    private readonly bank: Bank,
    orders: number,
  ) {
    // Alone, nobody lacks anything.
    this.orders = Math.max(orders, stage.habits.stock < MANY ? 2 : 1);
    this.shop = new Shop(stage, bank, this.orders);
  }

  send(): void {
    const { stage, shop, orders } = this;
    stage.send(() => deliverStock(stage));
    for (let number = 1; number <= orders; number++) stage.send(() => shop.sell(`o${number}`));
    if (stage.habits.operators) stage.send(() => new Operator(stage, this.bank, orders).work());
    if (stage.habits.transfers) stage.send(() => new Clerk(stage, orders).work());
    if (stage.habits.held) stage.send(() => new Host(stage, this.bank).hold(orders));
  }

  /** When much is forgotten: what was said is said again, and references are used again. */
  sendAgain(): void {
    const { stage, shop, bank, orders } = this;
    bank.tellAgain();
    shop.reportAgain();
    if (stage.random.chance(0.5)) stage.send(() => shop.sell('n1', `o${stage.random.between(1, orders)}-r1`));
    if (stage.habits.operators) stage.send(() => new Operator(stage, bank, orders).work());
  }
}

/** In the host's own session, so nobody repeats it. */
function deliverStock(stage: Stage): Promise<unknown> {
  const deliver = (_orders: unknown, app: INestApplicationContext): Promise<unknown> => {
    const { manager } = app.get(Database).dataSource;
    return app.get(Inventory).setStock(manager, 'A', stage.habits.stock);
  };
  return stage.ask('stock arrives', deliver, false);
}

/** What a shop believes of a payment. */
type Told = Pick<BankPayment, 'reference' | 'account' | 'transactionId' | 'amount' | 'currency'>;

/** The back end of a shop, and its buyers. */
class Shop {
  private readonly reported: (ReportedPayment & { readonly what: string })[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly bank: Bank,
    private readonly orders: number,
  ) {}

  /** @param reference of the first attempt, if it is to be an old one */
  async sell(id: string, reference?: string): Promise<void> {
    const { stage } = this;
    const { random, habits } = stage;
    await stage.pause(...habits.arrival);
    const order = this.draw(id);
    if (random.chance(habits.early)) await this.payEarly(id);
    const placed = random.chance(habits.hosted)
      ? await new Host(stage, this.bank).place(order)
      : await this.place(order);
    if (!placed || placed.outcome === 'rejected') return;
    stage.lines.set(id, order.lines ?? []);
    for (let number = random.pick(...habits.attempts); number > 0; number--)
      stage.send(() => this.offer(id, this.drawLink(id, number, number === 1 ? reference : undefined)));
    if (random.chance(habits.canceled)) stage.send(() => this.cancel(id));
    if (random.chance(habits.extended)) stage.send(() => this.extend(id));
    if (random.chance(habits.looked)) stage.send(() => this.look(id));
    if (random.chance(habits.erased)) stage.send(() => this.erase(id));
  }

  private async place(order: NewOrder): Promise<PlaceResult | undefined> {
    for (let tries = this.stage.habits.patient ? PATIENCE : 1; ; tries--) {
      const placed = await this.stage.ask(`the shop places ${order.id}`, (orders) => orders.place(order));
      if (tries === 1 || placed?.outcome !== 'rejected') return placed;
      await this.stage.pause(1, 12);
    }
  }

  /** The shop has a payment, and then the order for it. */
  private async payEarly(id: string): Promise<void> {
    const link = { account: this.bank.defaultAccount, reference: `${id}-e` };
    this.bank.open(link, id, PRICE, false);
    const payment = await this.pay(link);
    if (payment) this.stage.send(() => this.report(id, payment));
    await this.stage.pause(0, 20);
  }

  private draw(id: string): NewOrder {
    const { random, habits } = this.stage;
    const lines = random.chance(0.7) ? [{ sku: 'A', quantity: random.between(1, 2), unitAmount: PRICE }] : [];
    const merchantId = random.pick([3, 'default'], [1, 'other']);
    return { id, merchantId, amount: PRICE, currency: CURRENCY, lines, autoClose: !random.chance(habits.manual) };
  }

  /** Some shops number their payments anew in each account. */
  private drawLink(orderId: string, number: number, reference?: string): Link {
    const account = this.bank.drawAccount();
    if (reference !== undefined) return { account, reference };
    const isShared = account !== null && this.stage.random.chance(0.5);
    return { account, reference: isShared ? `shared-r${number}` : `${orderId}-r${number}` };
  }

  /** One attempt to pay, which some shops forget to register, or register late. */
  private async offer(orderId: string, link: Link): Promise<void> {
    const { stage, bank } = this;
    const { random, habits } = stage;
    await stage.pause(0, random.pick([3, 0], [1, 10]));
    if (random.chance(habits.lingering)) await stage.pause(20, 90);
    const registers = random.pick(...habits.registers);
    if (registers === 'before' && bank.expires && random.chance(habits.heldBack)) {
      if (!(await this.register(orderId, link, { handedOver: false }))) return;
      await stage.pause(0, 60);
    }
    const expires = bank.drawExpiry(random);
    const began = stage.kernel.time.now;
    if (registers === 'before' && !(await this.register(orderId, link, expires))) return;
    if (registers === 'before') stage.handedOver.push({ orderId, reference: link.reference, began });
    if (registers === 'before' && random.chance(habits.slow)) await stage.pause(0, 80);
    bank.open(link, orderId, PRICE, registers === 'before', expires);
    if (registers === 'late') stage.send(() => this.registerLate(orderId, link, expires));
    const asked = { ...link, transactionId: `book-${orderId}`, amount: PRICE, currency: CURRENCY };
    if (random.chance(habits.hasty)) stage.send(() => this.report(orderId, asked));
    for (let times = random.pick(...habits.pays); times > 0; times--) {
      await stage.pause(0, random.pick([2, 20], [2, 40], [1, 60]));
      if (random.chance(habits.bouncing)) {
        stage.send(() => this.believe(orderId, link));
        continue;
      }
      const payment = await this.pay(link);
      if (payment && random.chance(habits.reported)) stage.send(() => this.report(orderId, payment));
    }
  }

  /** From then on, the service has to know what becomes of it. */
  private async registerLate(orderId: string, link: Link, expires: Partial<NewAttempt>): Promise<void> {
    await this.stage.pause(0, 40);
    const isRegistered = await this.register(orderId, link, expires);
    const intent = this.bank.intentOf(link);
    if (isRegistered && intent?.orderId === orderId) intent.isRegistered = true;
  }

  private async register(orderId: string, { reference, account }: Link, more: Partial<NewAttempt>): Promise<boolean> {
    const attempt = { orderId, provider: this.bank.name, reference, ...this.named(account), ...more };
    const what = `the shop registers ${reference} for ${orderId}${more.handedOver === false ? ', not handed over' : ''}`;
    const result = await this.stage.ask(what, (orders) => orders.registerAttempt(attempt));
    const isRegistered = result !== undefined && result.outcome !== 'rejected';
    if (isRegistered) this.stage.registered.add(reference);
    return isRegistered;
  }

  /** The default account may be left out. */
  private named(account: string | null): { readonly merchantAccount?: string } {
    const mayOmit = account === this.bank.defaultAccount;
    return account === null || (mayOmit && this.stage.random.chance(0.5)) ? {} : { merchantAccount: account };
  }

  private async pay(link: Link): Promise<BankPayment | undefined> {
    const { kernel, random, habits } = this.stage;
    await kernel.turn(`a buyer wants to pay ${link.reference}`);
    const currency = random.chance(habits.foreign) ? 'USD' : CURRENCY;
    return this.bank.pay(link, random.pick(...habits.amounts), currency);
  }

  /** The success page says that the order is paid, but the debit fails. */
  private async believe(orderId: string, link: Link): Promise<void> {
    const { stage, bank } = this;
    const debit = bank.refuse(link);
    const { reference, transactionId } = debit;
    const what = { orderId, provider: bank.name, reference, transactionId, ...this.named(link.account) };
    const says = `the shop reports ${reference} (${transactionId}) for ${orderId}, which fails`;
    const result = await stage.ask(says, (orders) => orders.markPaid({ ...what, amount: PRICE, currency: CURRENCY }));
    if (result?.outcome === 'paid') debit.orderId = orderId;
    bank.tellRefused(debit);
  }

  /** Reports are late, repeated, and sometimes wrong. */
  private async report(orderId: string, { reference, account, ...payment }: Told): Promise<void> {
    const { stage } = this;
    const { random, habits } = stage;
    const { transactionId, amount } = payment;
    const currency = random.pick([8, payment.currency], [1, CURRENCY]);
    // The last one is of nobody.
    const other = `o${random.between(1, this.orders + 1)}`;
    const clear = habits.blurred ? 1 : 12;
    const told = {
      orderId: random.chance(habits.mistaken) ? other : orderId,
      reference: random.pick([clear, reference], [1, `${other}-r1`], [1, `made-up-${random.between(1, 3)}`]),
      ...random.pick<{ transactionId?: string }>(
        [habits.blurred ? 18 : 6, { transactionId }],
        [4, {}],
        [2, { transactionId: `book-${orderId}` }],
      ),
    };
    const stated = random.pick([8, amount], [1, PRICE], [1, PRICE / 2n]);
    const report = { provider: this.bank.name, amount: stated, currency, ...told, ...this.named(account) };
    const says = `the shop reports ${told.reference} (${told.transactionId ?? 'no id'}) for`;
    this.reported.push({ ...report, what: `${says} ${told.orderId}` });
    for (let times = random.pick([4, 1], [1, 2]); times > 0; times--) {
      await stage.pause(0, 40);
      if (told.orderId !== orderId && random.chance(habits.twinned))
        stage.send(() => this.tell({ ...report, orderId }, `${says} ${orderId}`));
      await this.tell(report, `${says} ${told.orderId}`);
    }
  }

  reportAgain(isMeant: (orderId: string) => boolean = () => this.stage.random.chance(0.5)): void {
    const { stage } = this;
    for (const { what, ...payment } of this.reported.filter(({ orderId }) => isMeant(orderId)))
      stage.send(async () => {
        await stage.pause(0, 40);
        await this.tell(payment, `${what} again`);
      });
  }

  private async tell(payment: ReportedPayment, what: string): Promise<void> {
    const result = await this.stage.ask(what, (orders) => orders.markPaid(payment));
    if (result && ['paid', 'already-paid'].includes(result.outcome)) this.stage.paid.add(payment.orderId);
  }

  private async cancel(orderId: string): Promise<void> {
    await this.stage.pause(0, 60);
    this.stage.uncanceled.delete(orderId);
    const result = await this.stage.ask(`a buyer cancels ${orderId}`, (orders) => orders.cancel({ orderId }));
    if (result?.outcome === 'cancelled') this.stage.canceled.add(orderId);
  }

  private async extend(orderId: string): Promise<void> {
    await this.stage.pause(0, 40);
    await this.stage.ask(`the shop extends ${orderId}`, (orders) => orders.extendDeadline({ orderId, byMs: 20_000 }));
  }

  private async look(orderId: string): Promise<void> {
    await this.stage.pause(0, 60);
    await this.stage.ask(`the page looks for ${orderId}`, (orders) => orders.checkPayment(orderId));
  }

  /** The buyer wants to be forgotten. Then, the bank and the shop say again what they have said. */
  private async erase(orderId: string): Promise<void> {
    const { stage } = this;
    for (let tries = 0; tries < 4; tries++) {
      await stage.pause(40, 120);
      if ((await erase(stage, orderId))?.outcome !== 'erased') continue;
      this.bank.tellAgain((one) => one.orderId === orderId);
      this.reportAgain((id) => id === orderId);
      return;
    }
  }
}

function erase(stage: Stage, orderId: string): Promise<ErasePersonalDataResult | undefined> {
  const request = { orderId, reason: 'the buyer asked' };
  return stage.ask(`${orderId} is erased`, (orders) => orders.erasePersonalData(request));
}

type Act = (row: UnmatchedPayment | undefined, orderId: string) => Promise<unknown>;

/** Looks at what waits for a person, and does something about it; careful, but not always wise. */
class Operator {
  constructor(
    private readonly stage: Stage,
    private readonly bank: Bank,
    private readonly orders: number,
  ) {}

  async work(): Promise<void> {
    const { stage } = this;
    const { random } = stage;
    const favorites = [this.drawAct(), this.drawAct(), this.drawAct()];
    const { hurried } = stage.habits;
    for (let acts = hurried ? random.between(6, 16) : random.between(1, 8); acts > 0; acts--) {
      await (hurried ? stage.pause(0, 6) : stage.pause(2, 30));
      const rows = (await stage.ask('an operator looks', (orders) => orders.unmatched.list(), false)) ?? [];
      const row = random.oneOf(rows.filter(({ handling }) => handling === 'kept'));
      const act = random.oneOf(favorites) ?? this.drawAct();
      const orderId = row?.orderId ?? `o${random.between(1, this.orders)}`;
      stage.touched.add(orderId);
      await act(row, orderId);
    }
  }

  private drawAct(): Act {
    return this.stage.random.pick<Act>(
      [3, (open) => this.settle(open)],
      [2, (open, orderId) => this.refund(open, orderId)],
      [2, (open, orderId) => this.assign(open, orderId)],
      [1, (_open, orderId) => this.revive(orderId)],
      [1, (_open, orderId) => this.close(orderId)],
      [1, (_open, orderId) => erase(this.stage, orderId)],
      [1, () => this.replay()],
      [1, () => this.reopen()],
      [1, (open) => this.respond(open)],
      [1, (open) => this.payBack(open)],
      [1, () => this.pause()],
    );
  }

  /** First the money, then the word. Who hears that the money is needed after all recalls it. */
  private async settle(row: UnmatchedPayment | undefined): Promise<void> {
    if (row?.provider === WIRE) return this.settleTransfer(row);
    // Of the others, an order may need the money, as may the one that the list shows with money of none.
    if (!row || !['late', 'surplus', 'unknown-order', 'amount-mismatch', 'currency-mismatch'].includes(row.reason))
      return;
    if (row.reason === 'unknown-order' && row.orderId !== null) return;
    const account = row.merchantAccount ?? this.bank.defaultAccount;
    const link = { reference: row.reference, account };
    // What only a shop has told is settled if the bank does not know it. Else its word comes, too.
    const isNothing = row.source === 'report' && !this.bank.has(link, idOf(row));
    const wired = row.source === 'provider' ? this.wire(link, idOf(row)) : undefined;
    if (!wired && !isNothing) return;
    const settlement = { id: row.id, reason: wired ? 'wired' : 'there is no such payment' };
    const settled = await this.stage.ask(`an operator settles ${row.reference} (${row.reason})`, (orders) =>
      orders.unmatched.settle(settlement),
    );
    if (wired && settled?.outcome === 'rejected') this.bank.recall(wired);
    if (settled?.outcome === 'settled') this.stage.settled.push({ id: row.id, wired });
  }

  private wire(link: Link, transactionId: string | undefined): BankPayment | undefined {
    return this.bank.wire(link, transactionId, this.stage.habits.elsewhere);
  }

  private async settleTransfer(row: UnmatchedPayment): Promise<void> {
    if (!['late', 'surplus', 'amount-mismatch', 'attempt-mismatch'].includes(row.reason)) return;
    const transfer = wireBack(this.stage, row);
    if (!transfer) return;
    const settled = await this.stage.ask(`an operator settles ${transfer.id} (${row.reason})`, (orders) =>
      orders.unmatched.settle({ id: row.id, reason: 'wired' }),
    );
    if (settled?.outcome !== 'settled') transfer.isReturned = false;
  }

  /** To the buyer's bank. It decides nothing about the money. */
  private async respond(row: UnmatchedPayment | undefined): Promise<void> {
    if (row?.reason !== 'chargeback') return;
    await this.stage.ask(`an operator settles the chargeback of ${row.reference}`, (orders) =>
      orders.unmatched.settle({ id: row.id, reason: 'answered' }),
    );
  }

  /** What the provider rejects, unless the buyer's bank has it already. */
  private async payBack(row: UnmatchedPayment | undefined): Promise<void> {
    if (row?.reason !== 'refund-failed') return;
    const link = { reference: row.reference, account: row.merchantAccount ?? this.bank.defaultAccount };
    const isTaken = this.bank.isTakenBack(row.reference);
    const wired = isTaken ? undefined : this.wire(link, idOf(row));
    if (!wired && !isTaken) return;
    const settled = await this.stage.ask(`an operator settles the refund of ${row.reference}`, (orders) =>
      orders.unmatched.settle({ id: row.id, reason: 'paid back otherwise' }),
    );
    if (wired && settled?.outcome === 'rejected') this.bank.recall(wired);
  }

  /** The wire comes back, or there was none. */
  private async reopen(): Promise<void> {
    const { stage, bank } = this;
    const one = stage.random.oneOf(stage.settled);
    if (!one) return;
    stage.settled.splice(stage.settled.indexOf(one), 1);
    if (one.wired) bank.recall(one.wired);
    const result = await stage.ask(`an operator reopens ${one.id}`, (orders) =>
      orders.unmatched.reopen({ id: one.id, reason: 'the wire came back' }),
    );
    if (one.wired && result?.outcome !== 'reopened') bank.wireAgain(one.wired);
  }

  private async refund(row: UnmatchedPayment | undefined, orderId: string): Promise<void> {
    const reference = row?.reference ?? `${orderId}-r1`;
    // The bank's books show what the buyer's bank has taken.
    if (row?.provider === WIRE || (row && !row.orderId) || this.bank.isTakenBack(reference)) return;
    const refund = { orderId, provider: this.bank.name, reference, reason: 'the buyer asked' };
    await this.stage.ask(`an operator refunds ${reference} of ${orderId}`, (orders) => orders.refund(refund));
  }

  private async assign(row: UnmatchedPayment | undefined, orderId: string): Promise<void> {
    const isTransfer = row?.provider === WIRE && row.reason === 'attempt-mismatch';
    if (row?.reason !== 'unknown-order' && !isTransfer) return;
    const assignment = { id: row.id, orderId, reason: 'it is the order of this buyer' };
    await this.stage.ask(`an operator assigns ${row.reference} to ${orderId}`, (orders) =>
      orders.unmatched.assign(assignment),
    );
  }

  private async revive(orderId: string): Promise<void> {
    await this.stage.ask(`an operator revives ${orderId}`, (orders) => orders.revive({ orderId, reason: 'asked' }));
  }

  private async close(orderId: string): Promise<void> {
    await this.stage.ask(`an operator closes ${orderId}`, (orders) => orders.close({ orderId, reason: 'asked' }));
  }

  /** Everything that no person has paid back. */
  private async replay(): Promise<void> {
    const replay = async (_orders: unknown, app: INestApplicationContext): Promise<unknown> => {
      const parked = app.get(ParkedTimeouts);
      return parked.replay((await parked.list()).filter(({ kind }) => kind !== 'payment.refund'));
    };
    await this.stage.ask('an operator replays what is parked', replay, false);
  }

  private async pause(): Promise<void> {
    const { stage, bank } = this;
    const subject = stage.random.oneOf([
      ...KINDS.map((kind) => `kind:${kind}` as const),
      `provider:${bank.name}` as const,
    ]);
    const change = (pause: boolean): Promise<unknown> =>
      stage.ask(
        `an operator ${pause ? 'pauses' : 'resumes'} ${subject}`,
        (_orders, app) =>
          app
            .get(TimeoutEngine)
            .controls.change(subject ?? 'kind:order.payment', { pause }, { by: 'anna', reason: 'asked' }),
        // One row alone is in nobody's way.
        false,
      );
    await change(true);
    await stage.pause(5, 60);
    while (!(await change(false)));
  }
}

function idOf({ evidence }: UnmatchedPayment): string | undefined {
  const { transactionId } = (evidence ?? {}) as { readonly transactionId?: unknown };
  return typeof transactionId === 'string' ? transactionId : undefined;
}

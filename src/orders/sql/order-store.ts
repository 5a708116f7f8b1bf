import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery } from '../../database';
import { type Inventory } from '../../inventory';
import { type EventReporting, UNHEARD } from '../listeners/order-audience';
import { type Order } from '../order';
import { type UnmatchedMoney } from '../unmatched/unmatched-money';
import { type AttemptStatus, ATTEMPT_STATUSES, canMoveAttempt } from '../attempt-status';
import {
  accountOfAttempt,
  type AttemptKey,
  isSameAttempt,
  isSamePayment,
  meantAttempt,
  type PaymentAttempt,
  type PaymentNames,
} from '../payment-attempt';
import { AdoptUnmatched } from './adopt-unmatched';
import { ApplyTransitions } from './apply-transitions';
import { ContestedRows } from './contested-rows';
import { FindSamePayments, type SamePayments } from './find-same-payments';
import { InsertAttempt } from './insert-attempt';
import { type DefaultAccounts } from './wanted-attempt';
import { KeepUnmatchedMoney } from './keep-unmatched-money';
import { type LockedBatch, LockOrders, type UnownedMoney } from './lock-orders';
import { ORDER_COLUMNS, type OrderRow, toOrder } from './order-row';
import { type AttemptsNow, ReadAttempts } from './read-attempts';
import { type AttemptWrite, WriteAttempts } from './write-attempts';
import { type Transition } from '../transition';

const NO_PROVIDERS: DefaultAccounts = { get: () => undefined };

/** Everything that deciding about orders needs from their tables. Methods with `tx` run in that transaction. */
export class OrderStore {
  private readonly lockOrders: LockOrders;
  private readonly applyTransitions: ApplyTransitions;
  private readonly write: WriteAttempts;
  private readonly insert: InsertAttempt;
  private readonly findSame: FindSamePayments;
  private readonly keepMoney: KeepUnmatchedMoney;
  private readonly adopt: AdoptUnmatched;
  private readonly readAttempts: ReadAttempts;
  /** Rows of unmatched money about payments that two orders have. */
  readonly contested: ContestedRows;
  private readonly statusSql: string;
  private readonly moveSql: string;
  private readonly closeSql: string;
  private readonly holdSql: string;
  private readonly readSql: string;
  private readonly resolveSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
    private readonly inventory: Inventory,
    reporting: EventReporting = UNHEARD,
    private readonly providers: DefaultAccounts = NO_PROVIDERS,
  ) {
    this.lockOrders = new LockOrders(schema);
    this.applyTransitions = new ApplyTransitions(schema, inventory, reporting);
    this.write = new WriteAttempts(schema);
    this.insert = new InsertAttempt(schema);
    this.findSame = new FindSamePayments(schema);
    this.keepMoney = new KeepUnmatchedMoney(schema, reporting);
    this.adopt = new AdoptUnmatched(this);
    this.contested = new ContestedRows(schema);
    this.resolveSql = `
      UPDATE ${schema}.payment_attempt SET resolved_account = $3, updated_at = now()
       WHERE provider = $1 AND reference = $2 AND merchant_account = '' AND resolved_account IS NULL`;
    this.readAttempts = new ReadAttempts(dataSource, schema);
    this.statusSql = `
      WITH moved AS (
        UPDATE ${schema}.payment_attempt a SET status = $4, updated_at = now()
          FROM unnest($1::text[], $2::text[], $3::text[]) AS k(provider, reference, account)
         WHERE a.provider = k.provider AND a.reference = k.reference AND a.merchant_account = k.account
               AND a.status = ANY($5::text[])
        RETURNING 1)
      SELECT count(*)::int AS count FROM moved`;
    this.moveSql = `
      WITH moved AS (
        UPDATE ${schema}.payment_attempt a SET order_id = $5, updated_at = now()
          FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k(provider, reference, account, order_id)
         WHERE a.provider = k.provider AND a.reference = k.reference AND a.merchant_account = k.account
               AND a.order_id = k.order_id AND a.paid_amount IS NULL
        RETURNING 1)
      SELECT count(*)::int AS count FROM moved`;
    this.readSql = `SELECT ${ORDER_COLUMNS} FROM ${schema}.orders o WHERE o.id = $1`;
    // As they are now: a person may have settled them since they were read.
    this.holdSql = `
      SELECT id FROM ${schema}.unmatched_payment
       WHERE id = ANY($1::uuid[]) AND handling IN ('kept', 'waiting') ORDER BY id FOR NO KEY UPDATE`;
    this.closeSql = `UPDATE ${schema}.unmatched_payment SET handling = 'adopted' WHERE id = ANY($1::uuid[])`;
  }

  /** Locks these orders, or those that no other transaction has locked, and then reads them with their attempts. */
  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch> {
    return this.lockOrders.execute(tx, ids, mode);
  }

  /** Books the adoptable payments of the batch on their orders, as paid attempts. Returns the changed batch. */
  adoptUnmatched(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch> {
    return this.adopt.execute(tx, batch);
  }

  /**
   * Writes attempts of orders that this transaction has locked.
   *
   * @throws Error if another order has got a new one in the meantime; repeat the transaction.
   */
  async writeAttempts(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void> {
    for (const write of writes.filter(({ isNew }) => isNew)) {
      if (!(await this.insertPaid(tx, write)))
        throw new Error(`another order has got the payment ${write.attempt.reference} in the meantime`);
    }
    await this.write.execute(
      tx,
      writes.filter(({ isNew }) => !isNew),
    );
  }

  /** Writes the attempt of a payment that was not registered. False: another order has it. */
  insertPaid(tx: EntityManager, { attempt, evidence }: AttemptWrite): Promise<boolean> {
    return this.insert.asPaid(tx, attempt, evidence);
  }

  /** Returns everything that is known about these payments, for any order and under any of their names. */
  async samePayments(tx: Pick<EntityManager, 'query'>, names: readonly PaymentNames[]): Promise<SamePayments> {
    const { attempts, unowned, handled } = await this.findSame.execute(tx, names);
    const resolved = attempts.map((attempt) => this.resolved(attempt));
    const isMeant = (one: PaymentNames): boolean =>
      names.some((name) => isSameAttempt(one, name) || isSamePayment(one, name));
    return { attempts: resolved.filter(isMeant), unowned: unowned.filter(isMeant), handled };
  }

  /** The same in a transaction that books one of them. */
  async samePaymentsLocked(tx: EntityManager, names: readonly PaymentNames[]): Promise<SamePayments> {
    await this.lockPayments(tx, names);
    return this.samePayments(tx, names);
  }

  /** Other transactions that book one of these payments wait for this one, and then see what was booked. */
  lockPayments(tx: EntityManager, names: readonly PaymentNames[]): Promise<void> {
    return this.findSame.lock(tx, names);
  }

  /**
   * The attempt with the account that it has if nobody says otherwise. Only for comparing it with attempts of other orders
   * and for asking its provider: what comes back is stored, because the default may change.
   */
  resolved(attempt: PaymentAttempt): PaymentAttempt {
    if (accountOfAttempt(attempt) !== null) return attempt;
    const resolvedAccount = this.providers.get(attempt.provider)?.defaultAccount ?? null;
    return resolvedAccount === null ? attempt : { ...attempt, resolvedAccount };
  }

  /** Records the account of an attempt of a locked order that was registered without one. */
  async resolveAccount(tx: EntityManager, { provider, reference }: AttemptKey, account: string): Promise<void> {
    await tx.query(this.resolveSql, [provider, reference, account]);
  }

  /**
   * Records that this unmatched money is now booked under another name.
   *
   * @throws Error if another transaction has handled some of it since it was read, so that it must not be booked.
   */
  async closeUnmatched(tx: EntityManager, money: readonly Pick<UnownedMoney, 'id'>[]): Promise<void> {
    if (money.length === 0) return;
    if (!(await this.holdUnmatched(tx, money)))
      throw new Error('a person has settled or assigned the payment in the meantime; repeat the request');
    await tx.query(this.closeSql, [money.map(({ id }) => id)]);
  }

  /** Locks this unmatched money. False: another transaction has handled some of it since it was read. */
  async holdUnmatched(tx: EntityManager, money: readonly Pick<UnownedMoney, 'id'>[]): Promise<boolean> {
    const ids = [...new Set(money.map(({ id }) => id))];
    return (await tx.query<unknown[]>(this.holdSql, [ids])).length === ids.length;
  }

  /**
   * Writes these transitions: status and version (compare-and-set), history, stock (released on CLOSED and CANCELLED,
   * sold on PAID), and event. Refuses to write CLOSED or CANCELLED while any attempt of the order could take money,
   * or has money that is not being refunded.
   *
   * @returns ids of the changed orders; nothing is written for the others.
   */
  apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>> {
    return this.applyTransitions.execute(tx, transitions);
  }

  /** Stores money that no order takes, and reports it as `order.payment_late`, once per attempt and reason. */
  async keepUnmatched(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void> {
    const unowned = money.filter(({ reason }) => reason === 'unknown-order');
    if (unowned.length > 0) await this.lockPayments(tx, unowned);
    await this.keepMoney.execute(tx, money);
  }

  /** Returns the wanted attempts of one order and the database's time. Needs no transaction. */
  async attemptsOf(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow> {
    const { now, attempts } = await this.readAttempts.execute(orderId, isWanted);
    return { now, attempts: attempts.map((attempt) => this.resolved(attempt)) };
  }

  /** Reads an order without a lock. Needs no transaction. */
  async read(orderId: string): Promise<Order | undefined> {
    const [row] = await ownQuery<OrderRow[]>(this.dataSource, this.readSql, [orderId]);
    return row && toOrder(row);
  }

  /** Returns the attempt that a provider refers to by any of its names. Needs no transaction. */
  async findAttempt(names: PaymentNames): Promise<PaymentAttempt | undefined> {
    const { attempts } = await this.samePayments(this.dataSource, [names]);
    return meantAttempt(attempts, names);
  }

  /**
   * Locks the stock of all these orders in one global order. Called before the first `apply` or `reserveAgain` of a
   * transaction that revives one of several orders.
   */
  lockStock(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    return this.inventory.lockAll(tx, orderIds);
  }

  /**
   * Locks the stock of these orders without waiting, and returns the orders whose stock another transaction has locked.
   */
  ordersWithLockedStock(tx: EntityManager, orderIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.inventory.lockFree(tx, orderIds);
  }

  /** Reserves the goods of a closed order again. False: they are sold, and nothing was written. */
  reserveAgain(tx: EntityManager, orderId: string): Promise<boolean> {
    return this.inventory.reserveAgain(tx, orderId);
  }

  /** Gives attempts that hold no money to another order. Both orders are locked. */
  async moveAttempts(tx: EntityManager, attempts: readonly PaymentAttempt[], orderId: string): Promise<void> {
    const [found] = await tx.query<{ count: number }[]>(this.moveSql, [
      ...attemptKeys(attempts),
      attempts.map((attempt) => attempt.orderId),
      orderId,
    ]);
    if (found?.count !== attempts.length) throw new Error(`an attempt that order ${orderId} takes over has changed`);
  }

  /** Records on attempts where their money is. Throws if the table of transitions does not allow it, which is a bug. */
  async setAttemptStatus(
    tx: EntityManager,
    keys: readonly AttemptKey[],
    status: Extract<AttemptStatus, 'REFUNDING' | 'REFUNDED'>,
  ): Promise<void> {
    const [found] = await tx.query<{ count: number }[]>(this.statusSql, [
      ...attemptKeys(keys),
      status,
      ATTEMPT_STATUSES.filter((from) => canMoveAttempt(from, status)),
    ]);
    const moved = found?.count ?? 0;
    if (moved !== keys.length) throw new Error(`${moved} of ${keys.length} payment attempts could become ${status}`);
  }
}

function attemptKeys(keys: readonly AttemptKey[]): string[][] {
  return [
    keys.map(({ provider }) => provider),
    keys.map(({ reference }) => reference),
    keys.map(({ merchantAccount }) => merchantAccount ?? ''),
  ];
}

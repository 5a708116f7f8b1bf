import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { ChangedMeanwhileError, Database, statements, storableJson } from '../../database';
import { Inventory, type StockEffect } from '../../inventory';
import { announceAfterCommit, insertEvents } from '../../outbox';
import { PaymentProviders } from '../../payments';
import { OrderEventLog } from '../listeners/order-listeners';
import {
  type Order,
  type AttemptStatus,
  ATTEMPT_STATUSES,
  canMoveAttempt,
  accountOfAttempt,
  type AttemptKey,
  isApart,
  isSameAttempt,
  isSamePayment,
  type LockedOrder,
  meantAttempt,
  type PaymentAttempt,
  type PaymentNames,
  type OrderStatus,
} from '../model/order';
import { type UnmatchedMoney, PART_REASONS, reasonsSql } from '../model/unmatched-money';
import { type Transition } from '../model/transition';
import { closingsNow } from '../model/order-timeouts';
import { TimeoutScheduler } from '../../timeouts';
import { ContestedRows, insertPaid, keptFromEnding, writeAttempts } from './attempts';
import { type AttemptWrite } from '../model/money';
import { findSamePayments, type LockedBatch, lockOrders, lockPayments } from './lock-orders';
import { mayBeFor, namesAsTold, type SamePayments, type UnownedMoney, type WaitingMoney } from '../model/decide-claim';
import { distinguished, KeepUnmatchedMoney } from './keep-unmatched-money';
import { attemptKeys, ORDER_COLUMNS, type OrderRow, toOrder, type AttemptsNow, ReadAttempts } from './order-rows';

/** Everything that deciding about orders needs from their tables. Methods with `tx` run in that transaction. */
@Injectable()
export class OrderStore {
  private readonly transitionSql: Record<StockEffect | 'none', string>;

  constructor(
    private readonly database: Database,
    readonly inventory: Inventory,
    private readonly events: OrderEventLog,
    private readonly providers: PaymentProviders,
    private readonly reading: ReadAttempts,
    private readonly keeping: KeepUnmatchedMoney,
    private readonly scheduler: TimeoutScheduler,
    /** Rows of unmatched money about payments that two orders have. */
    readonly contested: ContestedRows,
  ) {
    this.transitionSql = {
      none: transitionSql(database.schema, 'none', events.writesEvents),
      release: transitionSql(database.schema, 'release', events.writesEvents),
      commit: transitionSql(database.schema, 'commit', events.writesEvents),
    };
  }

  /** Locks these orders, or those that no other transaction has locked, and then reads them with their attempts. */
  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch> {
    return lockOrders(tx, this.database, ids, mode);
  }

  /**
   * Writes attempts of orders that this transaction has locked.
   *
   * @throws Error if another order has got a new one in the meantime; repeat the transaction.
   */
  async writeAttempts(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void> {
    if (writes.length === 0) return;
    for (const write of writes.filter(({ isNew }) => isNew)) {
      if (!(await this.insertPaid(tx, write)))
        throw new Error(`another order has got the payment ${write.attempt.reference} in the meantime`);
    }
    const others = writes.filter(({ isNew }) => !isNew);
    await writeAttempts(tx, this.database, others);
  }

  insertPaid(tx: EntityManager, write: AttemptWrite): Promise<boolean> {
    return insertPaid(tx, this.database, write);
  }

  /**
   * Returns everything that is known about these payments, for any order and under any of their names.
   *
   * @param orderId the order that asks, which knows its own payments even if an account was not known.
   */
  async samePayments(
    tx: Pick<EntityManager, 'query'>,
    names: readonly PaymentNames[],
    orderId?: string,
  ): Promise<SamePayments> {
    const { attempts, unowned, handled } = await findSamePayments(tx, this.database, names, orderId);
    const resolved = attempts.map((attempt) => this.resolved(attempt));
    const isMeant = (one: PaymentNames): boolean =>
      names.some((name) => isSameAttempt(one, name) || isSamePayment(one, name));
    const told = await this.withOrders(tx, unowned.filter(isMeant));
    return { attempts: resolved.filter(isMeant), unowned: told, handled };
  }

  /** Adds the orders that have the attempts of which the provider told. */
  private async withOrders(
    tx: Pick<EntityManager, 'query'>,
    unowned: readonly UnownedMoney[],
  ): Promise<readonly UnownedMoney[]> {
    if (unowned.length === 0) return unowned;
    const { attempts } = await findSamePayments(tx, this.database, unowned.map(namesAsTold));
    const resolved = attempts.map((attempt) => this.resolved(attempt));
    return unowned.map((one) => {
      const told = namesAsTold(one);
      const own = resolved.filter((attempt) => isSamePayment(attempt, told) && !isApart(attempt, told));
      return { ...one, orderIds: own.map(({ orderId }) => orderId) };
    });
  }

  /** The same in a transaction that books one of them. */
  async samePaymentsLocked(tx: EntityManager, names: readonly PaymentNames[], orderId?: string): Promise<SamePayments> {
    await this.lockPayments(tx, names);
    return this.samePayments(tx, names, orderId);
  }

  /** Confirmed money that waits for a person and may be for one of these orders. */
  async waitingFor(tx: EntityManager, orders: readonly LockedOrder[]): Promise<readonly WaitingMoney[]> {
    const ids = orders.map(({ id }) => id);
    const named = await this.contested.confirmedOf(tx, ids);
    const known = orders.map(({ id, attempts }) => ({ id, attempts: attempts.map((one) => this.resolved(one)) }));
    return named.filter((money) => known.some((order) => mayBeFor(order, money)));
  }

  /** Other transactions that book one of these payments wait for this one, and then see what was booked. */
  lockPayments(tx: EntityManager, names: readonly PaymentNames[]): Promise<void> {
    return lockPayments(tx, this.database, names);
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

  async resolveAccount(tx: EntityManager, { provider, reference }: AttemptKey, account: string): Promise<void> {
    await tx.query(storeSql(this.database).resolve, [provider, reference, account]);
  }

  /**
   * Records that this unmatched money is now booked under another name. Others that it kept from ending are decided about.
   *
   * @param by the orders that book it
   * @throws ChangedMeanwhileError if another transaction has handled some of it since it was read, so that it must not be
   * booked.
   */
  async closeUnmatched(
    tx: EntityManager,
    money: readonly Pick<UnownedMoney, 'id'>[],
    by: readonly string[],
  ): Promise<void> {
    if (money.length === 0) return;
    if (!(await this.holdUnmatched(tx, money)))
      throw new ChangedMeanwhileError('a person has settled or assigned the payment');
    const ids = money.map(({ id }) => id);
    const freed = await tx.query<{ id: string }[]>(storeSql(this.database).close, [ids, by]);
    await this.decideNow(tx, ...freed.map(({ id }) => id));
  }

  /** Makes the timeouts that close the orders due. They decide about the orders as they are then. */
  async decideNow(tx: EntityManager, ...orderIds: readonly string[]): Promise<void> {
    await this.scheduler.schedule(closingsNow(orderIds), { tx });
  }

  /** Locks this unmatched money. False: another transaction has handled some of it since it was read. */
  async holdUnmatched(tx: EntityManager, money: readonly Pick<UnownedMoney, 'id'>[]): Promise<boolean> {
    const ids = [...new Set(money.map(({ id }) => id))];
    return (await tx.query<unknown[]>(storeSql(this.database).hold, [ids])).length === ids.length;
  }

  /**
   * Writes these transitions: status and version (compare-and-set), history, stock (released on CLOSED and CANCELLED,
   * sold on PAID), and event. Refuses to write CLOSED or CANCELLED while any attempt of the order could take money,
   * or has money that is not being refunded. Takes at most three statements, and one each for the listeners and the
   * stock, for any number of orders. Status, history, and event of an order are all derived from the row that the
   * compare-and-set returns, so none is written without the others.
   *
   * @returns ids of the changed orders; nothing is written for the others.
   */
  async apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>> {
    if (transitions.length === 0) return new Set();
    const none = await this.move(tx, 'none', transitions);
    const release = await this.move(tx, 'release', transitions);
    const commit = await this.move(tx, 'commit', transitions);
    const moved = new Set([...none, ...release, ...commit]);
    const events = transitions.filter(({ order }) => moved.has(order.id)).map(({ event }) => event);
    await this.events.tell(tx, events);
    // Last, because these goods are locked until the commit, and two batches nearly always share some.
    await this.inventory.end(tx, { release, commit });
    announceAfterCommit(tx);
    return moved;
  }

  private async move(
    tx: EntityManager,
    effect: StockEffect | 'none',
    transitions: readonly Transition[],
  ): Promise<string[]> {
    const steps = transitions.filter(({ to }) => STOCK_EFFECTS[to] === effect);
    if (steps.length === 0) return [];
    const rows = await tx.query<{ id: string }[]>(this.transitionSql[effect], transitionValues(steps));
    return rows.map(({ id }) => id);
  }

  /** Stores money that no order takes, and reports it as `order.payment_late`, once per attempt and reason. */
  async keepUnmatched(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void> {
    const unowned = money.filter(({ reason }) => reason === 'unknown-order');
    if (unowned.length > 0) await this.lockPayments(tx, unowned);
    await this.keeping.execute(tx, await this.apart(tx, money));
  }

  /** Under its own name if the order of another payment has its reference: it may be for any order, by that name. */
  private async apart(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<readonly UnmatchedMoney[]> {
    const isOrderless = (one: UnmatchedMoney): boolean => one.orderId === null && one.source === 'provider';
    const told = money.filter(isOrderless);
    if (told.length === 0) return money;
    const { attempts } = await findSamePayments(tx, this.database, told);
    const held = attempts.map((attempt) => this.resolved(attempt));
    return money.map((one) => (isOrderless(one) && held.some((has) => isApart(has, one)) ? distinguished(one) : one));
  }

  /** Returns the wanted attempts of one order and the database's time. Needs no transaction. */
  async attemptsOf(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow> {
    const { now, attempts } = await this.reading.execute(orderId, isWanted);
    return { now, attempts: attempts.map((attempt) => this.resolved(attempt)) };
  }

  async read(orderId: string): Promise<Order | undefined> {
    const [row] = await this.database.query<OrderRow[]>(storeSql(this.database).read, [orderId]);
    return row && toOrder(row);
  }

  /** Returns the attempt that a provider refers to by any of its names. Needs no transaction. */
  async findAttempt(names: PaymentNames): Promise<PaymentAttempt | undefined> {
    const { attempts } = await this.samePayments(this.database.dataSource, [names]);
    const meant = meantAttempt(attempts, names);
    if (meant?.status !== 'DUPLICATE') return meant;
    // The payment may be known by the other name of this one.
    return meantAttempt((await this.samePayments(this.database.dataSource, [meant])).attempts, meant);
  }

  /** Gives attempts that hold no money to another order. Both orders are locked. */
  async moveAttempts(tx: EntityManager, attempts: readonly PaymentAttempt[], orderId: string): Promise<void> {
    const [found] = await tx.query<{ count: number }[]>(storeSql(this.database).move, [
      ...attemptKeys(attempts),
      attempts.map((attempt) => attempt.orderId),
      orderId,
    ]);
    if (found?.count !== attempts.length)
      throw new ChangedMeanwhileError(`an attempt that order ${orderId} takes over has changed`);
  }

  /** Records on attempts where their money is. Throws if the table of transitions does not allow it, which is a bug. */
  async setAttemptStatus(
    tx: EntityManager,
    keys: readonly AttemptKey[],
    status: Extract<AttemptStatus, 'REFUNDING' | 'REFUNDED'>,
  ): Promise<void> {
    const [found] = await tx.query<{ count: number }[]>(storeSql(this.database).status, [
      ...attemptKeys(keys),
      status,
      ATTEMPT_STATUSES.filter((from) => canMoveAttempt(from, status)),
    ]);
    const moved = found?.count ?? 0;
    if (moved !== keys.length) throw new Error(`${moved} of ${keys.length} payment attempts could become ${status}`);
  }
}

const storeSql = statements((schema) => ({
  resolve: `
      UPDATE ${schema}.payment_attempt SET resolved_account = $3, updated_at = now()
       WHERE provider = $1 AND reference = $2 AND merchant_account = '' AND resolved_account IS NULL`,
  status: `
      WITH moved AS (
        UPDATE ${schema}.payment_attempt a SET status = $4, updated_at = now()
          FROM unnest($1::text[], $2::text[], $3::text[]) AS k(provider, reference, account)
         WHERE a.provider = k.provider AND a.reference = k.reference AND a.merchant_account = k.account
               AND a.status = ANY($5::text[])
        RETURNING 1)
      SELECT count(*)::int AS count FROM moved`,
  move: `
      WITH moved AS (
        UPDATE ${schema}.payment_attempt a SET order_id = $5, assigned = true, updated_at = now()
          FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k(provider, reference, account, order_id)
         WHERE a.provider = k.provider AND a.reference = k.reference AND a.merchant_account = k.account
               AND a.order_id = k.order_id AND a.paid_amount IS NULL
        RETURNING 1)
      SELECT count(*)::int AS count FROM moved`,
  read: `SELECT ${ORDER_COLUMNS} FROM ${schema}.orders o WHERE o.id = $1`,
  // As they are now: a person may have settled them since they were read.
  hold: `
      SELECT id FROM ${schema}.unmatched_payment
       WHERE id = ANY($1::uuid[]) AND handling IN ('kept', 'waiting') ORDER BY id FOR NO KEY UPDATE`,
  close: `
      WITH p AS (UPDATE ${schema}.unmatched_payment SET handling = 'adopted' WHERE id = ANY($1::uuid[]) RETURNING *)
      ${keptFromEnding(schema)} AND o.id <> ALL($2::text[])`,
}));

/** The effect of each status on the stock of an order that enters it. */
const STOCK_EFFECTS = {
  PENDING: 'none',
  CLOSING: 'none',
  CLOSED: 'release',
  CANCELLED: 'release',
  PAID: 'commit',
  REFUNDING: 'none',
  CLOSED_REFUNDED: 'none',
} as const satisfies Record<OrderStatus, StockEffect | 'none'>;

function transitionValues(steps: readonly Transition[]): unknown[] {
  return [
    steps.map(({ order }) => order.id),
    steps.map(({ order }) => order.version),
    steps.map(({ order }) => order.status),
    steps.map(({ to }) => to),
    steps.map(({ closingReason }) => closingReason),
    steps.map(({ by }) => by.cause),
    steps.map(({ by }) => by.actor ?? null),
    steps.map(({ reason }) => reason),
    steps.map(({ evidence }) => (evidence === null ? null : storableJson(evidence))),
    steps.map(({ by }) => by.traceparent ?? null),
    steps.map(({ event }) => event.id),
    steps.map(({ event }) => event.routingKey),
    steps.map(({ event }) => storableJson(event.body)),
  ];
}

function transitionSql(schema: string, effect: StockEffect | 'none', writesEvents: boolean): string {
  // The money rule, checked by the statement that closes: no attempt may be able to take money, or have money that is
  // not being refunded.
  const moneyRule = `AND NOT EXISTS (
            SELECT 1 FROM ${schema}.payment_attempt a
             WHERE a.order_id = o.id AND a.status NOT IN ('CLOSED', 'REFUNDING', 'REFUNDED', 'DUPLICATE', 'SETTLED'))`;
  const stamp = { none: '', release: 'closed_at = now(),', commit: 'paid_at = now(),' }[effect];
  // Partial payments wait for the rest or for a person, and now the rest has arrived. What is not needed, such as money in
  // another currency, is surplus and told as that. What was settled is no part of the price: its row tells that it is at
  // the provider all the same. By the given ids, to help the planner.
  const completed = `,
    completed AS (
      UPDATE ${schema}.unmatched_payment p SET handling = 'completed'
       WHERE p.order_id = ANY($1::text[])
         AND (p.handling = 'waiting' OR (p.handling = 'kept' AND p.reason IN (${reasonsSql(PART_REASONS)})))
         AND EXISTS (SELECT 1 FROM moved WHERE moved.id = p.order_id)
         AND NOT EXISTS (
           SELECT 1 FROM ${schema}.payment_attempt a
            WHERE a.provider = p.provider AND a.reference = p.reference AND a.merchant_account = p.merchant_account
              AND a.status = 'SETTLED'))`;
  // `= ANY` in addition to the join: with the join alone, the planner scans all orders, 6 ms per batch at 40,000 rows.
  return `
    WITH step AS (
      SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                           $9::text[], $10::text[], $11::uuid[], $12::text[], $13::text[])
        AS s(order_id, old_version, from_status, to_status, closing, cause, actor, reason, evidence, traceparent,
             event_id, event_type, body)),
    moved AS (
      UPDATE ${schema}.orders o
         SET status = s.to_status, version = o.version + 1, closing_reason = s.closing, ${stamp} updated_at = now()
        FROM step s
       WHERE o.id = ANY($1::text[]) AND o.id = s.order_id AND o.version = s.old_version AND o.status = s.from_status
             ${effect === 'release' ? moneyRule : ''}
      RETURNING o.id, o.version, s.*),
    history AS (
      INSERT INTO ${schema}.order_history
             (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
      SELECT id, version, from_status, to_status, cause, actor, reason, evidence::jsonb, traceparent FROM moved),
    event AS (
      ${insertEvents(schema, { from: 'moved', id: 'event_id', type: 'event_type' }, writesEvents)})${effect === 'commit' ? completed : ''}
    SELECT id FROM moved`;
}

import { type DataSource, type EntityManager } from 'typeorm';
import { type Inventory } from '../../inventory';
import {
  type AttemptsNow,
  type AttemptWrite,
  type LockedBatch,
  type OrderStore,
  type SamePayments,
  type UnmatchedMoney,
} from './order-store';
import { type AttemptStatus, ATTEMPT_STATUSES, canMoveAttempt } from '../attempt-status';
import { type AttemptKey, type PaymentAttempt, type PaymentNames } from '../payment-attempt';
import { AdoptUnmatched } from './adopt-unmatched';
import { ApplyTransitions } from './apply-transitions';
import { FindSamePayments } from './find-same-payments';
import { InsertAttempt } from './insert-attempt';
import { KeepUnmatchedMoney } from './keep-unmatched-money';
import { LockOrders } from './lock-orders';
import { ReadAttempts } from './read-attempts';
import { WriteAttempts } from './write-attempts';
import { type Transition } from '../transition';

/** The OrderStore for the package's own tables. */
export class SqlOrderStore implements OrderStore {
  private readonly lockOrders: LockOrders;
  private readonly applyTransitions: ApplyTransitions;
  private readonly write: WriteAttempts;
  private readonly insert: InsertAttempt;
  private readonly findSame: FindSamePayments;
  private readonly keepMoney: KeepUnmatchedMoney;
  private readonly adopt: AdoptUnmatched;
  private readonly readAttempts: ReadAttempts;
  private readonly statusSql: string;
  private readonly closeSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
    private readonly inventory: Inventory,
  ) {
    this.lockOrders = new LockOrders(schema);
    this.applyTransitions = new ApplyTransitions(schema, inventory);
    this.write = new WriteAttempts(schema);
    this.insert = new InsertAttempt(schema);
    this.findSame = new FindSamePayments(schema);
    this.keepMoney = new KeepUnmatchedMoney(schema);
    this.adopt = new AdoptUnmatched(this);
    this.readAttempts = new ReadAttempts(dataSource, schema);
    this.statusSql = `
      UPDATE ${schema}.payment_attempt a SET status = $4, updated_at = now()
        FROM unnest($1::text[], $2::text[], $3::text[]) AS k(provider, reference, account)
       WHERE a.provider = k.provider AND a.reference = k.reference AND a.merchant_account = k.account
              AND a.status = ANY($5)`;
    this.closeSql = `UPDATE ${schema}.unmatched_payment SET handling = 'adopted' WHERE id = ANY($1::uuid[])`;
  }

  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch> {
    return this.lockOrders.execute(tx, ids, mode);
  }

  adoptUnmatched(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch> {
    return this.adopt.execute(tx, batch);
  }

  writeAttempts(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void> {
    return this.write.execute(tx, writes);
  }

  insertPaid(tx: EntityManager, { attempt, evidence }: AttemptWrite): Promise<boolean> {
    return this.insert.asPaid(tx, attempt, evidence);
  }

  samePayments(tx: EntityManager, names: readonly PaymentNames[]): Promise<SamePayments> {
    return this.findSame.execute(tx, names);
  }

  async closeUnmatched(tx: EntityManager, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query(this.closeSql, [ids]);
  }

  apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>> {
    return this.applyTransitions.execute(tx, transitions);
  }

  keepUnmatched(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void> {
    return this.keepMoney.execute(tx, money);
  }

  attemptsOf(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow> {
    return this.readAttempts.execute(orderId, isWanted);
  }

  async findAttempt(names: PaymentNames): Promise<PaymentAttempt | undefined> {
    const { attempts } = await this.findSame.execute(this.dataSource, [names]);
    return attempts.find(({ reference }) => reference === names.reference) ?? attempts[0];
  }

  lockStock(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    return this.inventory.lockAll(tx, orderIds);
  }

  heldStock(tx: EntityManager, orderIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.inventory.lockFree(tx, orderIds);
  }

  reserveAgain(tx: EntityManager, orderId: string): Promise<boolean> {
    return this.inventory.reserveAgain(tx, orderId);
  }

  async setAttemptStatus(
    tx: EntityManager,
    keys: readonly AttemptKey[],
    status: Extract<AttemptStatus, 'REFUNDING' | 'REFUNDED'>,
  ): Promise<void> {
    const [, moved] = await tx.query<[unknown, number]>(this.statusSql, [
      keys.map(({ provider }) => provider),
      keys.map(({ reference }) => reference),
      keys.map(({ merchantAccount }) => merchantAccount ?? ''),
      status,
      ATTEMPT_STATUSES.filter((from) => canMoveAttempt(from, status)),
    ]);
    if (moved !== keys.length) throw new Error(`${moved} of ${keys.length} payment attempts could become ${status}`);
  }
}

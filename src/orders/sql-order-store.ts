import { type DataSource, type EntityManager } from 'typeorm';
import { type Inventory } from '../inventory';
import { type AttemptFinding } from './attempt-finding';
import { type AttemptsNow, type LockedBatch, type OrderStore, type UnexpectedMoney } from './order-store';
import { type AttemptKey, type AttemptStatus, type PaymentAttempt } from './payment-attempt';
import { AdoptUnclaimed } from './sql/adopt-unclaimed';
import { ApplyTransitions } from './sql/apply-transitions';
import { KeepUnexpectedMoney } from './sql/keep-unexpected-money';
import { LockOrders } from './sql/lock-orders';
import { ReadAttempts } from './sql/read-attempts';
import { ATTEMPT_COLUMNS, type AttemptRow, toAttempt } from './sql/order-row';
import { WriteFindings } from './sql/write-findings';
import { type Transition } from './transition';

/** The OrderStore on our own tables. */
export class SqlOrderStore implements OrderStore {
  private readonly lockOrders: LockOrders;
  private readonly applyTransitions: ApplyTransitions;
  private readonly writeFindings: WriteFindings;
  private readonly keepMoney: KeepUnexpectedMoney;
  private readonly adopt: AdoptUnclaimed;
  private readonly readAttempts: ReadAttempts;
  private readonly attemptSql: string;
  private readonly statusSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
    private readonly inventory: Inventory,
  ) {
    this.lockOrders = new LockOrders(schema);
    this.applyTransitions = new ApplyTransitions(schema, inventory);
    this.writeFindings = new WriteFindings(schema);
    this.keepMoney = new KeepUnexpectedMoney(schema);
    this.adopt = new AdoptUnclaimed(schema);
    this.readAttempts = new ReadAttempts(dataSource, schema);
    this.attemptSql = `
      SELECT (SELECT row_to_json(found) FROM (SELECT ${ATTEMPT_COLUMNS}) found) AS attempt
        FROM ${schema}.payment_attempt a WHERE a.provider = $1 AND a.reference = $2`;
    this.statusSql = `
      UPDATE ${schema}.payment_attempt a SET status = $3, updated_at = now()
        FROM unnest($1::text[], $2::text[]) AS k(provider, reference)
       WHERE a.provider = k.provider AND a.reference = k.reference`;
  }

  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch> {
    return this.lockOrders.execute(tx, ids, mode);
  }

  adoptUnclaimed(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch> {
    return this.adopt.execute(tx, batch);
  }

  recordFindings(tx: EntityManager, findings: readonly AttemptFinding[]): Promise<void> {
    return this.writeFindings.execute(tx, findings);
  }

  apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>> {
    return this.applyTransitions.execute(tx, transitions);
  }

  keepUnexpected(tx: EntityManager, money: readonly UnexpectedMoney[]): Promise<void> {
    return this.keepMoney.execute(tx, money);
  }

  attemptsOf(orderId: string, statuses: readonly AttemptStatus[]): Promise<AttemptsNow> {
    return this.readAttempts.execute(orderId, statuses);
  }

  async findAttempt({ provider, reference }: AttemptKey): Promise<PaymentAttempt | undefined> {
    const [row] = await this.dataSource.query<{ attempt: AttemptRow }[]>(this.attemptSql, [provider, reference]);
    return row && toAttempt(row.attempt);
  }

  lockStock(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    return this.inventory.lockAll(tx, orderIds);
  }

  reserveAgain(tx: EntityManager, orderId: string): Promise<boolean> {
    return this.inventory.reserveAgain(tx, orderId);
  }

  async setAttemptStatus(
    tx: EntityManager,
    keys: readonly AttemptKey[],
    status: 'REFUNDING' | 'REFUNDED',
  ): Promise<void> {
    await tx.query(this.statusSql, [keys.map((key) => key.provider), keys.map((key) => key.reference), status]);
  }
}

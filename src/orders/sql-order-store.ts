import { type DataSource, type EntityManager } from 'typeorm';
import { type Inventory } from '../inventory';
import { type AttemptFinding } from './attempt-finding';
import { type LockedBatch, type OrderStore, type UnexpectedMoney } from './order-store';
import { type PaymentAttempt } from './payment-attempt';
import { ApplyTransitions } from './sql/apply-transitions';
import { KeepUnexpectedMoney } from './sql/keep-unexpected-money';
import { LockOrders } from './sql/lock-orders';
import { ATTEMPT_COLUMNS, type AttemptRow, toAttempt } from './sql/order-row';
import { WriteFindings } from './sql/write-findings';
import { type Transition } from './transition';

/** The OrderStore on our own tables. */
export class SqlOrderStore implements OrderStore {
  private readonly lockOrders: LockOrders;
  private readonly applyTransitions: ApplyTransitions;
  private readonly writeFindings: WriteFindings;
  private readonly keepMoney: KeepUnexpectedMoney;
  private readonly openAttemptsSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
    inventory: Inventory,
  ) {
    this.lockOrders = new LockOrders(schema);
    this.applyTransitions = new ApplyTransitions(schema, inventory);
    this.writeFindings = new WriteFindings(schema);
    this.keepMoney = new KeepUnexpectedMoney(schema);
    this.openAttemptsSql = `
      SELECT clock_timestamp() AS now, (
        SELECT json_agg(found) FROM (
          SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a
           WHERE a.order_id = $1 AND a.status NOT IN ('PAID', 'CLOSED')) found) AS attempts`;
  }

  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch> {
    return this.lockOrders.execute(tx, ids, mode);
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

  async openAttempts(orderId: string): Promise<{ now: Date; attempts: readonly PaymentAttempt[] }> {
    const [row] = await this.dataSource.query<{ now: Date; attempts: AttemptRow[] | null }[]>(this.openAttemptsSql, [
      orderId,
    ]);
    return { now: row?.now ?? new Date(NaN), attempts: (row?.attempts ?? []).map(toAttempt) };
  }
}

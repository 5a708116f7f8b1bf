import { present, validInstant } from '../../errors';
import DataLoader from 'dataloader';
import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { type PaymentAttempt } from '../payment-attempt';
import { ATTEMPT_COLUMNS, type AttemptRow, attemptsByOrder, toAttempt } from './order-row';

/** Attempts, and the database's time when they were read. */
export interface AttemptsNow {
  readonly now: Date;
  readonly attempts: readonly PaymentAttempt[];
}

/** A statement for this many orders takes a few milliseconds. */
const BATCH = 500;

interface NowRow {
  readonly now: Date;
  readonly attempts: AttemptRow[] | null;
}

/**
 * Reads attempts outside any transaction. Requests of the same turn share a statement: a batch of deadlines starts its
 * look-ups at the same time, and separate statements were a fifth of their cost.
 */
export class ReadAttempts {
  private readonly sql: string;
  /** Without a cache, because the result must be current. */
  private readonly loader = new DataLoader((ids: readonly string[]) => this.read(ids), {
    cache: false,
    maxBatchSize: BATCH,
  });

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    // ORDER BY: two attempts that one payment answers for must end the same way wherever their rows lie.
    this.sql = `
      SELECT clock_timestamp() AS now, (
        SELECT json_agg(found) FROM (
          SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = ANY($1::text[])
           ORDER BY a.created_at, a.provider, a.reference) found) AS attempts`;
  }

  async execute(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow> {
    const { now, attempts } = await this.loader.load(orderId);
    return { now, attempts: attempts.filter(isWanted) };
  }

  private async read(orderIds: readonly string[]): Promise<AttemptsNow[]> {
    const [row] = await ownQuery<NowRow[]>(this.dataSource, this.sql, [orderIds]);
    const { now, attempts } = present(row, 'the attempts of orders');
    const ofOrder = attemptsByOrder(orderIds, (attempts ?? []).map(toAttempt));
    return orderIds.map((id) => ({ now: validInstant(now), attempts: ofOrder.get(id) ?? [] }));
  }
}

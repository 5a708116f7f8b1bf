import { Logger } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { checkRequest } from '../input/check-new-order';
import { type OrderTransaction } from '../order-transaction';
import { AmendOrder } from '../sql/amend-order';
import { type OperatorOptions } from '../action-options';
import { byOperator } from './by-operator';

/** Whose data to show, and why. */
export interface RevealRequest {
  readonly orderId: string;
  readonly reason: string;
}

/** What may identify the buyer of an order. */
export interface PersonalData {
  /** As the shop gave it. Null: none. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** What providers and reports said, and with what it is stored. */
  readonly evidence: readonly Evidence[];
}

/** One stored answer or report. */
export interface Evidence {
  readonly of: 'history' | 'attempt' | 'unmatched' | 'refund';
  /** The version of the history entry, or the provider and reference of the payment. */
  readonly name: string;
  readonly evidence: Readonly<Record<string, unknown>>;
}

export type RevealResult =
  | ({ readonly outcome: 'revealed' } & PersonalData)
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' };

/** Shows the personal data of an order to an operator. The log and the history of the order say to whom, and why. */
export class RevealPersonalData {
  private readonly logger = new Logger(RevealPersonalData.name);
  private readonly amend: AmendOrder;
  private readonly sql: string;

  constructor(private readonly transaction: OrderTransaction) {
    const { schema } = transaction;
    this.amend = new AmendOrder(schema);
    const of = (what: string, name: string, from: string): string =>
      `SELECT '${what}' AS of, ${name} AS name, e.evidence FROM ${from} AS e
        WHERE e.order_id = $1 AND e.evidence IS NOT NULL`;
    this.sql = `
      SELECT o.metadata, (SELECT json_agg(found) FROM (
               ${of('history', 'e.version::text', `${schema}.order_history`)}
               UNION ALL ${of('attempt', `e.provider || ' ' || e.reference`, `${schema}.payment_attempt`)}
               UNION ALL ${of('unmatched', `e.provider || ' ' || e.reference`, `${schema}.unmatched_payment`)}
               UNION ALL ${of('refund', `e.provider || ' ' || e.reference`, `${schema}.refund`)}) found) AS evidence
        FROM ${schema}.orders o WHERE o.id = $1`;
  }

  /** @throws InvalidOrderError if the request is invalid. */
  async execute(request: RevealRequest, { by, tx }: OperatorOptions = {}): Promise<RevealResult> {
    checkRequest('reveal', request);
    const { orderId, reason } = request;
    const result = await this.transaction.withOrder<RevealResult>(
      orderId,
      tx,
      async (locked) => {
        const data = await this.read(locked.tx, orderId);
        const why = { by: byOperator(by), reason, evidence: { revealed: 'metadata and evidence' } };
        await this.amend.execute(locked.tx, locked.order, {}, why);
        return { outcome: 'revealed', ...data };
      },
      () => ({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' }),
    );
    if (result.outcome === 'revealed')
      this.logger.warn(`${by?.actor ?? 'an operator'} has seen the personal data of order "${orderId}": ${reason}`);
    return result;
  }

  private async read(tx: EntityManager, orderId: string): Promise<PersonalData> {
    const [row] = await tx.query<{ metadata: PersonalData['metadata']; evidence: Evidence[] | null }[]>(this.sql, [
      orderId,
    ]);
    return { metadata: row?.metadata ?? null, evidence: row?.evidence ?? [] };
  }
}

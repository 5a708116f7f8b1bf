import { Logger, Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { statements } from '../../database';
import { type TimeoutRef } from '../../timeouts';
import { type EvidenceOf, evidenceSql } from '../sql/personal-data';
import { checkRequest } from '../input/check-input';
import { OrderTransaction } from '../sql/order-transaction';
import { type OperatorOptions, byOperator, type Actor } from '../model/transition';
import {
  parseReminderKey,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  ORDER_LATE_WATCH,
  ORDER_REMINDER,
  ORDER_PAYMENT,
} from '../model/order-timeouts';

interface RevealRequest {
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

interface Evidence {
  readonly of: EvidenceOf;
  /** The version of the history entry, or the provider and reference of the payment. */
  readonly name: string;
  readonly evidence: Readonly<Record<string, unknown>>;
}

type RevealResult =
  | ({ readonly outcome: 'revealed' } & PersonalData)
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' };

/** Shows the personal data of an order to an operator. The log and the history of the order say to whom, and why. */
@Injectable()
export class RevealPersonalData {
  private readonly logger = new Logger(RevealPersonalData.name);

  constructor(private readonly transaction: OrderTransaction) {}

  /** @throws InvalidOrderError if the request is invalid. */
  async execute(request: RevealRequest, { by, tx }: OperatorOptions = {}): Promise<RevealResult> {
    checkRequest('reveal', request);
    const { orderId, reason } = request;
    const result = await this.transaction.withOrder<RevealResult>(orderId, tx, async (locked) => {
      const data = await this.read(locked.tx, orderId);
      const why = { by: byOperator(by), reason, evidence: { revealed: 'metadata and evidence' } };
      await this.transaction.amend(locked.tx, locked.order, {}, why);
      return { outcome: 'revealed', ...data };
    });
    if (result.outcome === 'revealed')
      this.logger.warn(`${by?.actor ?? 'an operator'} has seen the personal data of order "${orderId}": ${reason}`);
    return result;
  }

  private async read(tx: EntityManager, orderId: string): Promise<PersonalData> {
    const [row] = await tx.query<{ metadata: PersonalData['metadata']; evidence: Evidence[] | null }[]>(
      personalSql(this.transaction.database),
      [orderId],
    );
    return { metadata: row?.metadata ?? null, evidence: row?.evidence ?? [] };
  }
}

const personalSql = statements(
  (schema) => `
      SELECT o.metadata, (SELECT json_agg(found) FROM (${evidenceSql(schema, '$1')}) found) AS evidence
        FROM ${schema}.orders o WHERE o.id = $1`,
);

interface OperatorNote {
  readonly by: Actor;
  readonly reason: string;
  /** Only orders of these merchants. Undefined: all. */
  readonly merchants: readonly string[] | undefined;
  readonly evidence: JsonObject;
}

/** Writes into the histories of orders what an operator does with their timeouts. */
@Injectable()
export class NoteOnOrders {
  constructor(private readonly transaction: OrderTransaction) {}

  /** In one transaction. Timeouts that name no order, and orders that are gone, are left out. */
  async execute(timeouts: readonly TimeoutRef[], { by, reason, merchants, evidence }: OperatorNote): Promise<void> {
    const named = timeouts.flatMap((timeout) => orderOf(timeout) ?? []);
    const ids = [...new Set([...named, ...(await this.refunded(timeouts))])].sort();
    if (ids.length === 0) return;
    await this.transaction.database.run(undefined, async (tx) => {
      const { orders } = await this.transaction.store.lock(tx, ids, 'wait');
      const why = { by: byOperator(by), reason, evidence };
      const visible = [...orders.values()].filter(({ merchantId }) => merchants?.includes(merchantId) ?? true);
      for (const order of visible) await this.transaction.amend(tx, order, {}, why);
    });
  }

  /** The key of a refund's timeout is the number of the refund. */
  private async refunded(timeouts: readonly TimeoutRef[]): Promise<string[]> {
    const numbers = timeouts.filter(({ kind }) => kind === PAYMENT_REFUND).map(({ key }) => key);
    if (numbers.length === 0) return [];
    const rows = await this.transaction.database.query<{ order_id: string }[]>(
      refundedSql(this.transaction.database).refunded,
      [numbers],
    );
    return rows.map(({ order_id: orderId }) => orderId);
  }
}

const refundedSql = statements((schema) => ({
  refunded: `SELECT order_id FROM ${schema}.refund WHERE number = ANY($1::text[])`,
}));

function orderOf({ kind, key }: TimeoutRef): string | undefined {
  if (kind === ORDER_REMINDER) return parseReminderKey(key).orderId;
  return [ORDER_PAYMENT, ORDER_LATE_WATCH, PAYMENT_RECONCILIATION].includes(kind) ? key : undefined;
}

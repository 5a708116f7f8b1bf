import { Injectable } from '@nestjs/common';
import { Database, statements } from '../../database';
import { type AttemptStatus, type OrderStatus, type PaidSource } from '../model/order';
import { allTimeouts, ORDER_LATE_WATCH, PAYMENT_REFUND, reconcileTimeout } from '../model/order-timeouts';
import { type TimeoutRef } from '../../timeouts';
import { type UnmatchedPayment } from '../unmatched/unmatched-payment';
import { type RefundReason } from '../model/unmatched-money';

/** An attempt with what changed last, without the answers of its provider. Amounts are in minor units. */
export interface DossierAttempt {
  readonly provider: string;
  readonly reference: string;
  readonly merchantAccount: string | null;
  readonly status: AttemptStatus;
  readonly amount: number;
  readonly currency: string;
  /** What was paid, which may differ from the amount of the attempt. Null: nothing. */
  readonly paidAmount: number | null;
  readonly paidCurrency: string | null;
  readonly createdAt: Date;
  /** When a look-up, a notification, or a report changed it. */
  readonly updatedAt: Date;
  readonly paidAt: Date | null;
  readonly paidSource: PaidSource | null;
  readonly transactionId: string | null;
}

/** A refund of an order's payment. The amount is in minor units. */
export interface DossierRefund {
  readonly number: string;
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly reason: RefundReason;
  readonly status: 'PENDING' | 'REFUNDED';
  /** The operator who asked for it. Null: a policy did. */
  readonly requestedBy: string | null;
  readonly createdAt: Date;
  readonly refundedAt: Date | null;
}

/** What is known about one order besides its view and its history, without personal data. */
export interface OrderDossier {
  readonly status: OrderStatus;
  readonly attempts: readonly DossierAttempt[];
  readonly refunds: readonly DossierRefund[];
  readonly unmatched: readonly Omit<UnmatchedPayment, 'evidence'>[];
  /** The timeouts that the order may have. */
  readonly timeouts: readonly TimeoutRef[];
  /** Whether there is evidence of providers, or of reports. */
  readonly hasEvidence: boolean;
}

interface Row {
  readonly id: string;
  readonly status: OrderStatus;
  readonly offsets: readonly string[];
  readonly hasEvidence: boolean;
  readonly attempts: readonly DossierAttempt[] | null;
  readonly refunds: readonly DossierRefund[] | null;
  readonly unmatched: readonly Omit<UnmatchedPayment, 'evidence'>[] | null;
}

/** Columns of a refund with the alias `r`. */
const REFUND = `r.number, r.order_id AS "orderId", r.provider, r.reference, r.amount, r.currency, r.reason, r.status,
  r.requested_by AS "requestedBy", r.created_at AS "createdAt", r.refunded_at AS "refundedAt"`;

/** Reads what operators see of an order, and of refunds. */
@Injectable()
export class ReadDossier {
  constructor(private readonly database: Database) {}

  /** Undefined: there is no such order. */
  async execute(orderId: string): Promise<OrderDossier | undefined> {
    const [row] = await this.database.query<Row[]>(dossierSql(this.database).order, [orderId]);
    if (!row) return undefined;
    const { id, offsets, attempts, refunds, unmatched, ...rest } = row;
    const found = (refunds ?? []).map(dated);
    return {
      ...rest,
      attempts: (attempts ?? []).map(dated),
      refunds: found,
      unmatched: (unmatched ?? []).map(dated),
      timeouts: timeoutsOf(id, offsets.map(Number), found),
    };
  }

  /** Refunds by their numbers. */
  async refunds(numbers: readonly string[]): Promise<DossierRefund[]> {
    const rows = await this.database.query<DossierRefund[]>(dossierSql(this.database).refunds, [numbers]);
    return rows.map((row) => ({ ...row, amount: Number(row.amount) }));
  }
}

const dossierSql = statements((schema) => {
  const listed = (what: string, from: string): string =>
    `(SELECT json_agg(found) FROM (SELECT ${what} FROM ${from}) found)`;
  return {
    order: `
      SELECT o.id, o.status, o.reminder_offsets_ms AS offsets,
             EXISTS (SELECT 1 FROM ${schema}.payment_attempt a WHERE a.order_id = o.id AND a.evidence IS NOT NULL)
               OR EXISTS (SELECT 1 FROM ${schema}.order_history h WHERE h.order_id = o.id AND h.evidence IS NOT NULL)
               AS "hasEvidence",
             ${listed(
               `a.provider, a.reference, NULLIF(COALESCE(a.resolved_account, a.merchant_account), '') AS "merchantAccount", a.status, a.amount, a.currency,
                a.paid_amount AS "paidAmount", a.paid_currency AS "paidCurrency",
                a.created_at AS "createdAt", a.updated_at AS "updatedAt", a.paid_at AS "paidAt",
                a.paid_source AS "paidSource", a.transaction_id AS "transactionId"`,
               `${schema}.payment_attempt a WHERE a.order_id = o.id`,
             )} AS attempts,
             ${listed(REFUND, `${schema}.refund r WHERE r.order_id = o.id`)} AS refunds,
             ${listed(
               `p.id, p.reason, p.handling, p.order_id AS "orderId", p.provider, p.reference,
                NULLIF(p.merchant_account, '') AS "merchantAccount", p.amount, p.currency, p.source,
                p.created_at AS "createdAt", p.resolved_at AS "resolvedAt", p.resolved_by AS "resolvedBy", p.resolution`,
               `${schema}.unmatched_payment p WHERE p.order_id = o.id`,
             )} AS unmatched
        FROM ${schema}.orders o WHERE o.id = $1`,
    refunds: `SELECT ${REFUND} FROM ${schema}.refund r WHERE r.number = ANY($1::text[])`,
  };
});

function timeoutsOf(id: string, reminderOffsetsMs: readonly number[], refunds: readonly DossierRefund[]): TimeoutRef[] {
  return [
    ...allTimeouts({ id, reminderOffsetsMs }),
    { kind: ORDER_LATE_WATCH, key: id },
    reconcileTimeout(id),
    ...refunds.map(({ number }) => ({ kind: PAYMENT_REFUND, key: number })),
  ];
}

/** JSON carries instants as text. */
function dated<T extends object>(row: T): T {
  const entries = Object.entries(row as Record<string, unknown>);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name.endsWith('At') && typeof value === 'string' ? new Date(value) : value]),
  ) as T;
}

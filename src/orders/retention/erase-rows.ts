import { type EntityManager } from 'typeorm';
import { storableText } from '../../database';
import { type Order } from '../order';
import { rememberBookedSql } from '../sql/handled-payments';
import { type Actor } from '../transition-cause';

/** Prefix of pseudonyms. The rest is random, so that it cannot be computed from a reference. */
export const ERASED = 'erased:';

/** Texts of callers may contain names. Texts of the service are codes. */
const CALLERS = `'api', 'command', 'operator'`;

/** The statements of an erasure, for a locked order without open items. */
export class EraseRows {
  private readonly isErasedSql: string;
  private readonly markSql: string;
  private readonly historySql: string;
  private readonly rememberSql: string;
  private readonly referencesSql: string;
  private readonly keysSql: string;

  constructor(schema: string) {
    const isOpenName = `reference NOT LIKE '${ERASED}%'`;
    this.isErasedSql = `
      SELECT o.erased_at IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM ${schema}.payment_attempt WHERE order_id = o.id AND ${isOpenName})
             AND NOT EXISTS (SELECT 1 FROM ${schema}.unmatched_payment WHERE order_id = o.id AND ${isOpenName}) AS "isErased"
        FROM ${schema}.orders o WHERE o.id = $1`;
    // The fingerprint is a hash of the request, so its content could be guessed. updated_at stays, because retention
    // depends on it.
    this.markSql = `
      WITH erased AS (
        UPDATE ${schema}.orders SET metadata = NULL, fingerprint = 'erased', erased_at = now(), version = version + 1
         WHERE id = $1 AND version = $2 RETURNING id, version, status)
      INSERT INTO ${schema}.order_history (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
      SELECT id, version, status, status, 'operator', $3, $4, '{"erased": true}', $5 FROM erased RETURNING version`;
    // Operators stay accountable for their actions. Other callers may be the buyer.
    this.historySql = `
      UPDATE ${schema}.order_history
         SET evidence = NULL, traceparent = NULL, actor = CASE WHEN cause = 'operator' THEN actor END,
             reason = CASE WHEN cause IN (${CALLERS}) THEN NULL ELSE reason END
       WHERE order_id = $1 AND (evidence->>'erased') IS DISTINCT FROM 'true'`;
    this.rememberSql = rememberBookedSql(schema, `a.${isOpenName}`);
    this.referencesSql = referencesSql(schema, isOpenName);
    this.keysSql = `
      DELETE FROM ${schema}.idempotency_key k USING ${schema}.orders o
       WHERE o.id = $1 AND k.scope = 'place:' || o.merchant_id AND k.response->>'orderId' = o.id`;
  }

  async isErased(tx: EntityManager, orderId: string): Promise<boolean> {
    const [row] = await tx.query<{ isErased: boolean }[]>(this.isErasedSql, [orderId]);
    return row?.isErased ?? false;
  }

  async execute(
    tx: EntityManager,
    { id, version }: Pick<Order, 'id' | 'version'>,
    reason: string,
    by: Actor,
  ): Promise<void> {
    const why = [by.actor ?? null, storableText(reason), by.traceparent ?? null];
    // First, because the history lets nothing be removed while its order is not marked.
    const marked = await tx.query<unknown[]>(this.markSql, [id, version, ...why]);
    if (marked.length === 0) throw new Error(`order ${id} changed under its lock`);
    // Before the names go, or a repeated notification would look like another payment.
    await tx.query(this.rememberSql, [[id]]);
    for (const sql of [this.historySql, this.referencesSql, this.keysSql]) await tx.query(sql, [id]);
  }
}

/**
 * One statement, because attempt and refund reference each other by the changed columns, and constraints are checked at
 * its end.
 */
function referencesSql(schema: string, isOpenName: string): string {
  const isNamed = (row: string): string =>
    `${row}.provider = n.provider AND ${row}.reference = n.reference AND ${row}.merchant_account = n.merchant_account`;
  const key = 'provider, reference, merchant_account';
  return `
    WITH own AS MATERIALIZED (
      SELECT ${key} FROM ${schema}.payment_attempt WHERE order_id = $1 AND ${isOpenName}),
    named AS MATERIALIZED (
      SELECT ${key}, '${ERASED}' || gen_random_uuid() AS pseudonym FROM (
        SELECT ${key} FROM own
        UNION SELECT ${key} FROM ${schema}.unmatched_payment WHERE order_id = $1 AND ${isOpenName}) AS known),
    attempts AS (
      UPDATE ${schema}.payment_attempt a SET reference = n.pseudonym, transaction_id = NULL, evidence = NULL
        FROM named n WHERE ${isNamed('a')} AND a.order_id = $1),
    refunds AS (
      UPDATE ${schema}.refund r SET reference = n.pseudonym, evidence = NULL,
             number = md5(n.pseudonym || CASE r.reason WHEN 'overpaid' THEN ' excess' ELSE '' END),
             refund_id = CASE WHEN r.refund_id IS NOT NULL THEN n.pseudonym END
        FROM named n WHERE ${isNamed('r')} AND r.order_id = $1)
    UPDATE ${schema}.unmatched_payment p SET reference = n.pseudonym, evidence = '{}', resolution = NULL
      FROM named n WHERE ${isNamed('p')}
       AND (p.order_id = $1 OR EXISTS (SELECT 1 FROM own n WHERE ${isNamed('p')}))`;
}

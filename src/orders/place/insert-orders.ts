import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { Database, statements } from '../../database';
import { PaymentProviders } from '../../payments';
import { announceAfterCommit, insertEvents, type OutboxEntry } from '../../outbox';
import { OrderEventLog } from '../listeners/order-listeners';
import { draftAttempt } from '../model/money';
import { type NewOrder, type NewOrderLine, withAccount } from '../model/new-order';
import { type Order, type PaymentAttempt } from '../model/order';
import { type OrderPolicies } from '../model/order-policies';
import { type ActionContext } from '../model/transition';
import { type DefaultAccounts, earlyMoney, lockPayments, mayBeUnknown, takenByOther } from '../sql/lock-orders';

/** An order that is not stored yet. */
export interface OrderDraft {
  readonly input: NewOrder;
  readonly by: ActionContext;
  readonly id: string;
  readonly merchantId: string;
  readonly amount: bigint;
  readonly lines: readonly NewOrderLine[];
  /** Absent if the order specifies an absolute deadline. */
  readonly windowMs: number | undefined;
  readonly autoClose: boolean;
  readonly graceMs: number;
  readonly reminderOffsetsMs: readonly number[];
  readonly fingerprint: string;
  readonly isAnnounced: boolean;
}

interface DraftPlan {
  readonly policies: OrderPolicies;
  readonly providers: Pick<PaymentProviders, 'get'>;
}

/** Pure: applies the policies. The order's own come first, then its merchant's, then the global ones. */
export function draftOrder(input: NewOrder, by: ActionContext, { policies, providers }: DraftPlan): OrderDraft {
  const merchantId = input.merchantId ?? 'default';
  const policy = policies.of(merchantId);
  return {
    input: input.attempt ? { ...input, attempt: withAccount(input.attempt, providers) } : input,
    by,
    id: input.id,
    merchantId,
    amount: BigInt(input.amount),
    lines: input.lines ?? [],
    windowMs: input.expiresAt ? undefined : (input.paymentWindowMs ?? policy.paymentWindowMs),
    autoClose: input.autoClose ?? true,
    graceMs: policies.graceMs(merchantId, input.attempt?.provider, input.graceMs),
    reminderOffsetsMs: [...new Set(input.reminderOffsetsMs ?? policy.reminderOffsetsMs)],
    fingerprint: orderFingerprint(input),
    isAnnounced: policy.placedEvents === 'send',
  };
}

/** Names that no other draft of the same transaction may have. */
export function namesOf({ id, merchantId, input }: OrderDraft): string[] {
  const { idempotencyKey } = input;
  return [`order ${id}`, ...(idempotencyKey === undefined ? [] : [`key ${merchantId}\n${idempotencyKey}`])];
}

export function placedOrder(draft: OrderDraft, expiresAt: Date, createdAt: Date): Order {
  const { id, merchantId, amount, autoClose, graceMs, reminderOffsetsMs, input } = draft;
  return {
    id,
    merchantId,
    status: 'PENDING',
    version: 1,
    amount,
    currency: input.currency,
    expiresAt,
    autoClose,
    graceMs,
    reminderOffsetsMs,
    closingReason: null,
    createdAt,
    closedAt: null,
    paidAt: null,
  };
}

/** Equal for equal content, whatever the order of its keys. Distinguishes a repeated request from a conflicting one. */
export function orderFingerprint(order: NewOrder): string {
  const { merchantId = 'default', autoClose = true, lines = [] } = order;
  // The key identifies the request and is not part of its content.
  const withDefaults = { ...order, merchantId, autoClose, lines, idempotencyKey: undefined };
  return createHash('sha256').update(canonical(withDefaults)).digest('base64url');
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

export interface InsertedRow {
  readonly id: string;
  readonly expires_at: Date;
  readonly created_at: Date;
  /** Its first attempt is registered for another order. */
  readonly attempt_taken: boolean;
  /** Its payment was reported before it was placed. */
  readonly has_money: boolean;
  readonly event: OutboxEntry | undefined;
}

export interface Insertion {
  readonly values: readonly string[];
  /** Those whose key says too little: another order may register one with its account, or without it. */
  readonly ambiguous: readonly PaymentAttempt[];
  readonly events: ReadonlyMap<string, PlacedEvent>;
}

export interface PresentRow {
  readonly id: string;
  readonly order_fingerprint: string | null;
  readonly key_fingerprint: string | null;
}

/** Writes new orders with lines, history, first attempt, and idempotency key in one statement. */
@Injectable()
export class InsertOrders {
  private readonly insertSql: string;

  constructor(
    private readonly database: Database,
    private readonly events: OrderEventLog,
    private readonly providers: PaymentProviders,
  ) {
    this.insertSql = insertSql(database.schema, events.writesEvents);
  }

  /** Made before the transaction begins: a busy machine takes longer for a large batch than a transaction may pause. */
  prepare(drafts: readonly OrderDraft[]): Insertion {
    const events = new Map(drafts.filter(({ isAnnounced }) => isAnnounced).map((one) => [one.id, placedEvent(one)]));
    const orders = drafts.map((draft) => orderJson(draft, events.get(draft.id)));
    const attempts = drafts.flatMap(attemptOf);
    const json = [orders, drafts.flatMap(lineJson), attempts.map((one) => attemptJson(one, this.providers))];
    const ambiguous = attempts.filter((one) => mayBeUnknown(one, this.providers));
    return { values: json.map((values) => JSON.stringify(values)), ambiguous, events };
  }

  /** Returns the orders that did not exist. Their events are written, and are still to be told to the listeners. */
  async execute(tx: EntityManager, { values, ambiguous, events }: Insertion): Promise<InsertedRow[]> {
    if (ambiguous.length > 0) await lockPayments(tx, this.database, ambiguous);
    const rows = await tx.query<Omit<InsertedRow, 'event'>[]>(this.insertSql, [...values]);
    if (events.size > 0) announceAfterCommit(tx);
    return rows.map((row) => ({ ...row, event: eventIn(events, row) }));
  }

  tell(tx: EntityManager, rows: readonly InsertedRow[]): Promise<void> {
    const events = rows.flatMap(({ event }) => event ?? []);
    return events.length > 0 ? this.events.tell(tx, events) : Promise.resolve();
  }

  present(tx: EntityManager, drafts: readonly OrderDraft[]): Promise<PresentRow[]> {
    return tx.query(presentSql(this.database), [
      drafts.map((draft) => draft.id),
      drafts.map(scopeOf),
      drafts.map((draft) => draft.input.idempotencyKey ?? null),
    ]);
  }
}

const presentSql = statements(
  (schema) => `
      SELECT r.id, o.fingerprint AS order_fingerprint, k.fingerprint AS key_fingerprint
        FROM unnest($1::text[], $2::text[], $3::text[]) AS r(id, scope, key)
        LEFT JOIN ${schema}.orders o ON o.id = r.id
        LEFT JOIN ${schema}.idempotency_key k ON k.scope = r.scope AND k.key = r.key`,
);

/** Two merchants may choose the same key. */
function scopeOf(draft: OrderDraft): string {
  return `place:${draft.merchantId}`;
}

function orderJson(draft: OrderDraft, event: PlacedEvent | undefined): object {
  const { by } = draft;
  return {
    id: draft.id,
    merchant_id: draft.merchantId,
    amount: draft.amount.toString(),
    currency: draft.input.currency,
    window_ms: draft.windowMs ?? null,
    expires_at: draft.input.expiresAt ?? null,
    auto_close: draft.autoClose,
    grace_ms: draft.graceMs,
    offsets: `{${draft.reminderOffsetsMs.join(',')}}`,
    metadata: draft.input.metadata ?? null,
    fingerprint: draft.fingerprint,
    scope: scopeOf(draft),
    key: draft.input.idempotencyKey ?? null,
    cause: by.cause,
    actor: by.actor ?? null,
    traceparent: by.traceparent ?? null,
    ...(event ? { event_id: event.id, event: event.body } : {}),
  };
}

function eventIn(
  events: ReadonlyMap<string, PlacedEvent>,
  row: Pick<InsertedRow, 'id' | 'created_at' | 'expires_at'>,
): OutboxEntry | undefined {
  const event = events.get(row.id);
  return event && placedEntry(event, { occurredAt: row.created_at, expiresAt: row.expires_at });
}

function lineJson(draft: OrderDraft): object[] {
  return draft.lines.map((line, index) => ({
    order_id: draft.id,
    line_no: index + 1,
    sku: line.sku,
    quantity: line.quantity,
    unit_amount: line.unitAmount.toString(),
  }));
}

function attemptOf({ id, amount, input: { attempt, currency } }: OrderDraft): PaymentAttempt[] {
  return attempt ? [draftAttempt({ id, amount, currency }, attempt, new Date(0))] : [];
}

function attemptJson(attempt: PaymentAttempt, providers: DefaultAccounts): object {
  const { orderId, provider, reference, merchantAccount, status, amount, currency, timeExpire } = attempt;
  return {
    order_id: orderId,
    provider,
    reference,
    merchant_account: merchantAccount ?? '',
    may_be_unknown: mayBeUnknown(attempt, providers),
    status,
    amount: amount.toString(),
    currency,
    time_expire: timeExpire,
  };
}

/** SQL: an instant as JSON carries it. */
function isoText(instant: string): string {
  return `to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

const WANTED = {
  provider: 'a.provider',
  reference: 'a.reference',
  orderId: 'a.order_id',
  account: 'a.merchant_account',
  mayBeUnknown: 'a.may_be_unknown',
};

function insertSql(schema: string, writesEvents: boolean): string {
  const announced = `(
        SELECT n.event_id, n.traceparent, n.event || jsonb_build_object(
                 'occurredAt', ${isoText('p.created_at')}, 'expiresAt', ${isoText('p.expires_at')}) AS body
          FROM placed p JOIN new_order n USING (id) WHERE n.event_id IS NOT NULL) announced`;
  // has_money: single values and not EXISTS, which the planner may turn into a scan of all unmatched money.
  // ORDER BY: two callers that place the same ids lock them in the same order.
  return `
    WITH new_order AS (
      SELECT * FROM json_to_recordset($1::json) AS r(id text, merchant_id text, amount bigint, currency text,
        window_ms float8, expires_at timestamptz, auto_close boolean, grace_ms int, offsets text, metadata jsonb,
        fingerprint text, scope text, key text, cause text, actor text, traceparent text, event_id uuid, event jsonb)),
    new_line AS (
      SELECT * FROM json_to_recordset($2::json) AS r(order_id text, line_no int, sku text, quantity int,
        unit_amount bigint)),
    new_attempt AS (
      SELECT * FROM json_to_recordset($3::json) AS r(order_id text, provider text, reference text,
        merchant_account text, may_be_unknown boolean, status text, amount bigint, currency text, time_expire timestamptz)),
    keys AS (
      INSERT INTO ${schema}.idempotency_key (scope, key, fingerprint, response)
      SELECT scope, key, fingerprint, jsonb_build_object('orderId', id) FROM new_order
       WHERE key IS NOT NULL ORDER BY scope, key
      ON CONFLICT DO NOTHING RETURNING scope, key),
    placed AS (
      INSERT INTO ${schema}.orders (id, merchant_id, amount, currency, expires_at, auto_close, grace_ms,
                                    reminder_offsets_ms, metadata, fingerprint)
      SELECT id, merchant_id, amount, currency,
             COALESCE(expires_at, now() + window_ms * interval '1 millisecond'), auto_close, grace_ms,
             offsets::bigint[], metadata, fingerprint
        FROM new_order n
       WHERE n.key IS NULL OR EXISTS (SELECT 1 FROM keys k WHERE k.scope = n.scope AND k.key = n.key)
       ORDER BY id
      ON CONFLICT (id) DO NOTHING RETURNING id, expires_at, created_at),
    lines AS (
      INSERT INTO ${schema}.order_line (order_id, line_no, sku, quantity, unit_amount)
      SELECT l.order_id, l.line_no, l.sku, l.quantity, l.unit_amount FROM new_line l JOIN placed p ON p.id = l.order_id),
    attempts AS (
      INSERT INTO ${schema}.payment_attempt
             (order_id, provider, reference, merchant_account, status, amount, currency, time_expire)
      SELECT a.order_id, a.provider, a.reference, a.merchant_account, a.status, a.amount, a.currency, a.time_expire
        FROM new_attempt a JOIN placed p ON p.id = a.order_id
       WHERE ${takenByOther(schema, WANTED)} IS NULL
      ON CONFLICT (provider, reference, merchant_account) DO NOTHING RETURNING order_id),
    history AS (
      INSERT INTO ${schema}.order_history (order_id, version, from_status, to_status, cause, actor, traceparent)
      SELECT id, 1, NULL, 'PENDING', n.cause, n.actor, n.traceparent FROM placed JOIN new_order n USING (id)),
    event AS (
      ${insertEvents(schema, { from: announced, id: 'event_id', type: `'order.placed'` }, writesEvents)})
    SELECT p.id, p.expires_at, p.created_at,
           EXISTS (SELECT 1 FROM new_attempt a WHERE a.order_id = p.id)
             AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.order_id = p.id) AS attempt_taken,
           COALESCE((SELECT true FROM ${schema}.unmatched_payment m
                      WHERE m.order_id = p.id AND m.reason = 'unknown-order' AND m.handling = 'kept' LIMIT 1),
                    (SELECT true FROM new_attempt a, LATERAL ${earlyMoney(schema, WANTED)} early
                      WHERE a.order_id = p.id LIMIT 1), false) AS has_money
      FROM placed p`;
}

/** The event `order.placed` of a new order, except for its times, which only the database knows. */
export interface PlacedEvent {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly traceparent: string | undefined;
}

interface Times {
  readonly occurredAt: Date;
  readonly expiresAt: Date;
}

export function placedEvent({ id: orderId, merchantId, amount, input, by }: OrderDraft): PlacedEvent {
  const id = uuidv7();
  const about = { id, type: 'order.placed', version: 1, orderId, merchantId, orderVersion: 1 };
  const body = { ...about, amount: Number(amount), currency: input.currency, cause: by.cause };
  return { id, body, traceparent: by.traceparent };
}

export function placedEntry({ id, body, traceparent }: PlacedEvent, { occurredAt, expiresAt }: Times): OutboxEntry {
  const times = { occurredAt: occurredAt.toISOString(), expiresAt: expiresAt.toISOString() };
  const entry = { id, route: 'event', routingKey: 'order.placed', body: { ...body, ...times } } as const;
  return traceparent === undefined ? entry : { ...entry, traceparent };
}

/**
 * Places two orders like the newest one, each with a line, an attempt, and a key, then pays one and closes the other, for a
 * transaction that is rolled back. What others have added to our tables, such as a trigger, may refuse any of it.
 */
export async function rehearseOrder(tx: EntityManager, schema: string): Promise<void> {
  const [like] = await tx.query<object[]>(`
    SELECT merchant_id, amount::text, currency, metadata FROM ${schema}.orders ORDER BY created_at DESC LIMIT 1`);
  const [paid = '', closed = ''] = [uuidv7(), uuidv7()];
  const rows = [paid, closed].map((id) => rehearsalOf(id, like));
  const values = ['order', 'line', 'attempt'].map((what) => JSON.stringify(rows.map((row) => row[what])));
  await tx.query(insertSql(schema, true), values);
  const change = `UPDATE ${schema}.orders SET version = 2`;
  await tx.query(`${change}, status = 'PAID', paid_at = now() WHERE id = $1`, [paid]);
  await tx.query(`${change}, status = 'CLOSED', closing_reason = 'expired', closed_at = now() WHERE id = $1`, [closed]);
  // The name marks it as what a COMMIT of ours does.
  await tx.query('SET CONSTRAINTS ALL IMMEDIATE -- order_timeout_commits');
}

function rehearsalOf(id: string, like: object | undefined): Record<string, object> {
  const defaults = { merchant_id: 'default', amount: '1', currency: 'EUR', metadata: null };
  const rest = { auto_close: true, grace_ms: 0, offsets: '{}', fingerprint: '', cause: 'operator', key: id };
  const order = { ...defaults, ...like, ...rest, id, window_ms: 3_600_000, scope: id, event_id: id, event: {} };
  const line = { order_id: id, line_no: 1, sku: id, quantity: 1, unit_amount: '1' };
  const attempt = { order_id: id, provider: id, reference: id, merchant_account: '', may_be_unknown: false };
  return { order, line, attempt: { ...attempt, status: 'OPEN', amount: order.amount, currency: order.currency } };
}

import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

interface OwnTable {
  readonly columns: string;
  /** Without what only a purge needs. @default SELECT, INSERT */
  readonly rights?: readonly string[];
}

const INSERTED = ['SELECT', 'INSERT'];
const UPDATED = { rights: [...INSERTED, 'UPDATE'] };
const QUEUED = { rights: [...INSERTED, 'UPDATE', 'DELETE'] };

/** Every table of this release with its columns, and the sequence. The migrations create them. */
export const OWN_TABLES: Readonly<Record<string, OwnTable>> = {
  engine_setting: { ...UPDATED, columns: 'name value changed_at' },
  handled_payment: {
    columns: 'reference transaction merchant_account amount currency source fate order_id created_at',
  },
  idempotency_key: { columns: 'scope key fingerprint response created_at' },
  inventory: { ...UPDATED, columns: 'sku on_hand reserved merchant_id' },
  order_history: {
    columns: 'order_id version from_status to_status cause actor reason evidence traceparent occurred_at',
  },
  order_line: { columns: 'order_id line_no sku quantity unit_amount' },
  orders: {
    ...UPDATED,
    columns:
      'id merchant_id status version amount currency expires_at auto_close grace_ms reminder_offsets_ms closing_reason ' +
      'metadata fingerprint created_at updated_at closed_at paid_at erased_at',
  },
  outbox: {
    ...QUEUED,
    columns: 'id route routing_key body traceparent deliver_at available_at attempts created_at parked_reason',
  },
  payment_attempt: {
    ...UPDATED,
    columns:
      'provider reference order_id merchant_account status amount currency time_expire created_at updated_at paid_amount ' +
      'paid_currency paid_at transaction_id evidence registered paid_source resolved_account refunded_amount',
  },
  payment_name_key: { columns: 'id key' },
  refund: {
    ...UPDATED,
    columns:
      'number provider reference order_id amount currency reason status refund_id evidence created_at refunded_at ' +
      'merchant_account requested_by',
  },
  reservation: { ...UPDATED, columns: 'order_id sku qty state' },
  timeout: {
    ...QUEUED,
    columns:
      'kind key generation due_at next_attempt_at attempts lease state last_error payload traceparent asked_since',
  },
  timeout_generation: { rights: ['USAGE'], columns: 'last_value' },
  unmatched_payment: {
    ...UPDATED,
    columns:
      'id provider reference order_id amount currency evidence reason created_at handling merchant_account source ' +
      'resolved_at resolved_by resolution',
  },
};

interface Found {
  readonly user: string;
  readonly database: string;
  readonly isThere: boolean;
  /** Whether the database user may use the schema. */
  readonly isOpen: boolean;
  readonly tables: Readonly<
    Record<string, { readonly columns: readonly string[]; readonly rights: readonly string[] }>
  >;
}

/** A view under the former name of a table stands for it. */
const SQL = `
  SELECT quote_ident(current_user) AS user, current_database() AS database, n.oid IS NOT NULL AS "isThere",
         COALESCE(has_schema_privilege(n.oid, 'USAGE'), false) AS "isOpen",
         COALESCE((SELECT json_object_agg(c.relname, json_build_object(
           'columns', ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
           'rights', CASE c.relkind
             WHEN 'S' THEN ARRAY(SELECT 'USAGE' WHERE has_sequence_privilege(c.oid, 'USAGE'))
             ELSE ARRAY(SELECT r FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) r WHERE has_table_privilege(c.oid, r)) END))
            FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'S')), '{}') AS tables
    FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = $1`;

/** What the schema has of our tables, and what our database user may do with them. */
export interface OwnTablesFacts extends Omit<Found, 'tables'> {
  /** Tables, and columns of tables that are there, such as `timeout.lease`. */
  readonly missing: readonly string[];
  /** Rights that we need and do not have, such as `INSERT on orders`. */
  readonly lacking: readonly string[];
}

export async function readOwnTables(dataSource: DataSource, schema: string): Promise<OwnTablesFacts> {
  const [{ tables, ...facts }] = await ownQuery<[Found]>(dataSource, SQL, [schema]);
  const wanted = Object.entries(OWN_TABLES);
  const missing = wanted.flatMap(([name, { columns }]) => {
    const there = tables[name]?.columns;
    const absent = columns.split(' ').filter((column) => there && !there.includes(column));
    return there ? absent.map((column) => `${name}.${column}`) : [name];
  });
  const lacking = wanted.flatMap(([name, { rights = INSERTED }]) => {
    const granted = tables[name]?.rights ?? rights;
    return rights.filter((right) => !granted.includes(right)).map((right) => `${right} on ${name}`);
  });
  return { ...facts, missing, lacking };
}

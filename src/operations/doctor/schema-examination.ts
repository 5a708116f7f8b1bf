import { type DataSource } from 'typeorm';
import { SystemClock, withTimeout } from '../../clock';
import {
  isContention,
  isDatabaseUnavailable,
  isDiskFull,
  isOfValues,
  isReadOnly,
  isTriggerBroken,
  ownQuery,
} from '../../database';
import {
  findFailingProviders,
  findPieces,
  findUndecided,
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  PAYMENT_RECONCILIATION,
  rehearseOrder,
} from '../../orders';
import { Outbox } from '../../outbox';
import { CALL_LIMIT } from '../../payments';
import {
  countTimeouts,
  findFailing,
  MissingRightsError,
  oldestOverdue,
  readControls,
  rehearseWrite,
} from '../../timeouts';
import { capitalized, type DoctorLimits, type Notes } from './notes';
import { noteLockers, noteReadOnly } from './server-examination';

/** A migration of this release, or one that only the schema knows. */
export interface MigrationFact {
  readonly name: string;
  readonly state: 'run' | 'pending' | 'newer';
}

interface SchemaDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly horizonMs: number;
  readonly limits: DoctorLimits;
  /** The module's own check; throws if this release cannot work with the schema. */
  assertMigrated(): Promise<void>;
  migrations(): Promise<readonly MigrationFact[]>;
}

/** Writing two orders takes some 50 ms. */
const QUICK_MS = 500;

export class SchemaExamination {
  constructor(
    private readonly deps: SchemaDependencies,
    private readonly notes: Notes,
  ) {}

  /** Returns whether our tables can be read. */
  async run(): Promise<boolean> {
    const { notes } = this;
    if (!(await notes.examine('tables', () => this.tables()))) {
      notes.skip('timeouts, outbox, and orders', 'the tables cannot be used');
      return false;
    }
    await notes.examine('writing', () => this.writing());
    await notes.examine('pauses', () => this.pauses());
    await notes.examine('timeouts', () => this.timeouts());
    await notes.examine('outbox', () => this.outbox());
    await notes.examine('orders', () => this.orders());
    await notes.examine('look-ups', () => this.lookUps());
    return true;
  }

  private async tables(): Promise<boolean> {
    const { schema } = this.deps;
    const facts = await readOwnTables(this.deps.dataSource, schema);
    if (!facts.isThere) {
      const seen = `The database "${facts.database}" has no schema "${schema}".`;
      const remedy =
        'Correct DATABASE_URL or DATABASE_SCHEMA if the tables are elsewhere, or restore a backup. ' +
        'For a new installation only: order-timeout migrations run (docs/migrations.md).';
      this.notes.error('schema-missing', seen, remedy);
      return false;
    }
    // It reads one of our tables, so a right may be missing.
    const isComplete = (await this.notes.examine('migrations', () => this.migrations())) ?? true;
    // Pending migrations say so already.
    const gone = [...facts.missing, ...facts.lost];
    if (isComplete && gone.length > 0) {
      const seen = `Schema "${schema}" lacks ${gone.join(', ')}, although all migrations were run.`;
      const remedy = 'Undo the change if it was renamed, or restore it from a backup. Migrations do not repair it.';
      this.notes.error('tables-missing', seen, remedy);
    }
    this.rights(facts);
    this.rowSecurity(facts);
    // Harmless as long as they refuse nothing; if they do, the log tells what.
    if (facts.triggers.length > 0) this.notes.fact('foreign triggers', facts.triggers.join('; '));
    const isUsable = facts.missing.length === 0 && facts.isOpen && facts.lacking.length === 0;
    return isComplete && isUsable && facts.hidden.length === 0;
  }

  /** Returns whether all of them were run. */
  private async migrations(): Promise<boolean> {
    const all = await this.deps.migrations();
    const pending = all.filter(({ state }) => state === 'pending').map(({ name }) => name);
    this.notes.fact('migrations', `${all.length - pending.length} run, ${pending.length} pending`);
    if (pending.length > 0) {
      const seen = `Schema "${this.deps.schema}" lacks the migrations ${pending.join(', ')}.`;
      const remedy = 'Run: order-timeout migrations run, as the owner of the tables (docs/migrations.md).';
      this.notes.error('migrations-pending', seen, remedy);
      return false;
    }
    await this.deps.assertMigrated().catch((error: unknown) => {
      this.notes.error('schema-newer', sentenceOf(error), 'Deploy the release that migrated it (docs/migrations.md).');
    });
    return true;
  }

  private rights({ user, isThere, isOpen, lacking }: OwnTablesFacts): void {
    if (!isThere || (isOpen && lacking.length === 0)) return;
    const error = MissingRightsError.toUse(this.deps.schema, user, isOpen ? lacking.join(', ') : 'USAGE');
    this.missingRight('database-rights', error);
  }

  private rowSecurity({ user, hidden }: OwnTablesFacts): void {
    if (hidden.length === 0) return;
    this.missingRight('row-level-security', MissingRightsError.toSee(this.deps.schema, user, hidden));
  }

  private missingRight(finding: string, error: MissingRightsError): void {
    const [seen = '', remedy = ''] = sentenceOf(error).split('; run as ');
    this.notes.error(finding, `${seen}.`, `Run as ${remedy}`);
  }

  private async writing(): Promise<void> {
    const { dataSource, schema } = this.deps;
    const written = rehearseWrite(dataSource, schema, (tx) => rehearseOrder(tx, schema)).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const ended = written.then(() => true);
    const isQuick = await withTimeout(new SystemClock(), QUICK_MS, ended, false);
    // Who is in its way, such as who has locked what a trigger writes to, shows only while it waits.
    const isBlocked = !isQuick && (await noteLockers(this.deps, this.notes, 10).catch(() => false));
    const failed = await written;
    if (failed) await this.refused(failed.error, isBlocked);
  }

  /** @param isBlocked whoever is in the way has been told */
  private async refused(error: unknown, isBlocked: boolean): Promise<void> {
    if (isBlocked && isContention(error)) return;
    const why = sentenceOf(error);
    const where = 'docs/runbook.md, "The database is unavailable"';
    if (isReadOnly(error) && (await noteReadOnly(this.deps.dataSource, this.notes))) return;
    if (isDiskFull(error)) {
      const remedy = `Free space on the disk of the database server. The service then continues by itself (${where}).`;
      return this.notes.error('database-disk-full', `The database server has no disk space left: ${why}.`, remedy);
    }
    // A constraint of the shop, also on what its triggers write, may refuse only what no real order has, such as this id.
    const isProof = isDatabaseUnavailable(error) || (isTriggerBroken(error) && !isOfValues(error));
    if (!isProof) return this.notes.skip('an order like the newest', `the database refuses it: ${why}`);
    const remedy = `Remove the cause (${where}).`;
    this.notes.error('database-refuses-writes', `The database refuses to write: ${why}.`, remedy);
  }

  private async pauses(): Promise<void> {
    for (const [subject, { pause }] of await readControls(this.deps.dataSource, this.deps.schema)) {
      if (!pause) continue;
      const seen = `${capitalized(subject.replace(':', ' '))} is paused by ${pause.by} since ${pause.at.toISOString()}: ${pause.reason}.`;
      const remedy =
        'Resume it on the operator page when that is over (docs/runbook.md, "A kind or a provider is paused").';
      this.notes.warning('paused', seen, remedy);
    }
  }

  private async timeouts(): Promise<void> {
    const { dataSource, schema, limits } = this.deps;
    const counts = await countTimeouts(dataSource, schema);
    for (const { kind, pending, parked } of counts) {
      this.notes.fact(`timeouts of ${kind}`, `${pending} pending, ${parked} parked`);
      if (parked === 0) continue;
      const remedy = `See why: order-timeout parked list timeouts --about ${kind} (docs/runbook.md, "A timeout is parked").`;
      this.notes.warning('parked-timeouts', `${parked} timeouts of ${kind} are parked and wait for a person.`, remedy);
    }
    for (const [kind, seconds] of await oldestOverdue(dataSource, schema)) {
      if (seconds < limits.overdueS) continue;
      const seen = `The most overdue timeout of ${kind} has been waiting for ${Math.round(seconds)} s.`;
      const remedy =
        'No instance runs, all are too slow, or an operator has paused the kind or its provider (docs/runbook.md, "Timeouts are overdue").';
      this.notes.error('timeouts-overdue', seen, remedy);
    }
    // What asks a provider again is not a failure of its own.
    const except = [ORDER_PAYMENT, ORDER_LATE_WATCH, PAYMENT_RECONCILIATION];
    for (const failing of await findFailing(dataSource, schema, { except, seconds: limits.failingS })) {
      const { kind, count, seconds, reason } = failing;
      const seen = `${count} timeouts of ${kind} fail and are tried again, the oldest for ${Math.round(seconds)} s: ${reason}.`;
      const remedy =
        'Remove the cause. They succeed by themselves then, unless they are parked before (docs/runbook.md, "A timeout is parked").';
      this.notes.warning('timeouts-failing', seen, remedy);
    }
  }

  private async orders(): Promise<void> {
    const { withoutTimeout, withoutOrder, refunds } = await findPieces(this.deps.dataSource, this.deps.schema);
    const where = 'docs/runbook.md, "An order is incomplete"';
    if (withoutTimeout.count > 0) {
      const seen = `${withoutTimeout.count} undecided orders have no timeout (${withoutTimeout.ids.join(', ')}), so nothing closes them.`;
      this.notes.error('orders-without-timeout', seen, `Schedule their timeouts again (${where}).`);
    }
    if (refunds.count > 0) {
      const seen = `${refunds.count} refunds have no timeout (${refunds.ids.join(', ')}), so nobody asks for them.`;
      this.notes.error('refunds-without-timeout', seen, `Schedule their timeouts again (${where}).`);
    }
    if (withoutOrder.count > 0) {
      const seen = `Stock is reserved for ${withoutOrder.count} orders that do not exist or have ended (${withoutOrder.ids.join(', ')}).`;
      this.notes.error('reservations-without-order', seen, `Release the stock (${where}).`);
    }
  }

  private async lookUps(): Promise<void> {
    const { dataSource, schema, limits } = this.deps;
    for (const failing of await findFailingProviders(dataSource, schema, limits.providerS)) {
      const { provider, count, seconds, reason } = failing;
      const seen = `The provider ${provider} has not told for ${Math.round(seconds)} s what became of ${count} orders: ${reason ?? 'no reason is known'}.`;
      const cause = reason?.endsWith(CALL_LIMIT)
        ? 'Wait, or raise its calls per second on the operator page if the provider allows more.'
        : 'Look whether it is down, and whether its keys are right.';
      const remedy = `${cause} The orders wait until it answers (docs/runbook.md, "A provider is down").`;
      this.notes.warning('provider-failing', seen, remedy);
    }
    const undecided = await findUndecided(dataSource, schema, limits.undecidedS);
    if (!undecided) return;
    const { count, orderId, seconds, reason } = undecided;
    const seen = `${count} orders are undecided long after their deadline, the oldest for ${Math.round(seconds)} s (${orderId}: ${reason ?? 'no reason is known'}).`;
    const remedy = `Look at its payments: order-timeout orders show ${orderId} (docs/runbook.md, "An order stays undecided").`;
    this.notes.warning('orders-undecided', seen, remedy);
  }

  private async outbox(): Promise<void> {
    const { dataSource, schema, horizonMs, limits } = this.deps;
    const { rows, oldestSeconds, parked } = await new Outbox({ schema, horizonMs }).backlog(dataSource);
    this.notes.fact('outbox', `${rows} to send, oldest ${Math.round(oldestSeconds)} s, ${parked} parked`);
    if (oldestSeconds >= limits.outboxS) {
      const seen = `${rows} messages should be on the broker, the oldest for ${Math.round(oldestSeconds)} s.`;
      this.notes.warning('outbox-old', seen, 'See docs/runbook.md, "The outbox grows".');
    }
    if (parked > 0) {
      const seen = `${parked} messages of the outbox are parked: they can never be sent as they are.`;
      const remedy =
        'See why: order-timeout parked list outbox (docs/runbook.md, "A message in the outbox is parked").';
      this.notes.warning('outbox-parked', seen, remedy);
    }
  }
}

/** Without the code in front. */
function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return capitalized(message.replace(/^ORDER_TIMEOUT\/[A-Z_]+: /, ''));
}

interface OwnTable {
  readonly columns: string;
  /** Its unique indexes: their columns, as PostgreSQL shows them. */
  readonly keys?: readonly string[];
  /** Without what only a purge needs. @default SELECT, INSERT */
  readonly rights?: readonly string[];
}

/** Functions that our statements call. The migrations create them. */
const OWN_FUNCTIONS = ['payment_name'];

const INSERTED = ['SELECT', 'INSERT'];

const UPDATED = { rights: [...INSERTED, 'UPDATE'] };

const QUEUED = { rights: [...INSERTED, 'UPDATE', 'DELETE'] };

/** Every table of this release with its columns, and the sequence. The migrations create them. */
export const OWN_TABLES: Readonly<Record<string, OwnTable>> = {
  engine_setting: { ...UPDATED, keys: ['name'], columns: 'name value changed_at' },
  handled_payment: {
    columns: 'reference transaction merchant_account amount currency source fate order_id created_at',
  },
  idempotency_key: { keys: ['scope, key'], columns: 'scope key fingerprint response created_at' },
  inventory: { ...UPDATED, keys: ['sku'], columns: 'sku on_hand reserved merchant_id' },
  order_history: {
    keys: ['order_id, version'],
    columns: 'order_id version from_status to_status cause actor reason evidence traceparent occurred_at',
  },
  order_line: { keys: ['order_id, line_no'], columns: 'order_id line_no sku quantity unit_amount' },
  orders: {
    ...UPDATED,
    keys: ['id'],
    columns:
      'id merchant_id status version amount currency expires_at auto_close grace_ms reminder_offsets_ms closing_reason ' +
      'metadata fingerprint created_at updated_at closed_at paid_at erased_at',
  },
  outbox: {
    ...QUEUED,
    keys: ['id'],
    columns: 'id route routing_key body traceparent deliver_at available_at attempts created_at parked_reason',
  },
  payment_attempt: {
    ...UPDATED,
    keys: ['provider, reference, merchant_account'],
    columns:
      'provider reference order_id merchant_account status amount currency time_expire created_at updated_at paid_amount ' +
      'paid_currency paid_at transaction_id evidence registered paid_source resolved_account refunded_amount ' +
      'assigned',
  },
  payment_name_key: { keys: ['id'], columns: 'id key' },
  refund: {
    ...UPDATED,
    keys: ['number', "provider, reference, merchant_account, (reason = 'overpaid'::text)"],
    columns:
      'number provider reference order_id amount currency reason status refund_id evidence created_at refunded_at ' +
      'merchant_account requested_by',
  },
  reservation: { ...UPDATED, keys: ['order_id, sku'], columns: 'order_id sku qty state' },
  timeout: {
    ...QUEUED,
    keys: ['kind, key'],
    columns:
      'kind key generation due_at next_attempt_at attempts lease state last_error payload traceparent asked_since',
  },
  timeout_generation: { rights: ['USAGE'], columns: 'last_value' },
  unmatched_payment: {
    ...UPDATED,
    keys: ['id', 'provider, reference, merchant_account, reason'],
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
  /** Tables of which it sees only some rows. */
  readonly hidden: readonly string[];
  /** Functions of our schema that statements call, and whether the database user may do so. */
  readonly functions: Readonly<Record<string, boolean>>;
  /** Triggers of our tables with functions outside of our schema. */
  readonly triggers: readonly string[];
  readonly tables: Readonly<
    Record<
      string,
      {
        readonly columns: readonly string[];
        readonly keys: readonly string[] | null;
        readonly rights: readonly string[];
      }
    >
  >;
}

/** A view under the former name of a table stands for it. */
const SQL = `
  SELECT quote_ident(current_user) AS user, current_database() AS database, n.oid IS NOT NULL AS "isThere",
         COALESCE(has_schema_privilege(n.oid, 'USAGE'), false) AS "isOpen",
         ARRAY(SELECT c.relname::text FROM pg_class c
                WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND row_security_active(c.oid) ORDER BY 1) AS hidden,
         ARRAY(SELECT t.tgname || ' of ' || c.relname || ', by ' || t.tgfoid::regprocedure
                 FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
                WHERE c.relnamespace = n.oid AND p.pronamespace <> n.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D'
                ORDER BY 1) AS triggers,
         COALESCE((SELECT json_object_agg(p.proname, has_function_privilege(p.oid, 'EXECUTE')) FROM pg_proc p
                    WHERE p.pronamespace = n.oid AND p.prorettype <> 'trigger'::regtype), '{}') AS functions,
         COALESCE((SELECT json_object_agg(c.relname, json_build_object(
           'columns', ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
           'keys', CASE WHEN c.relkind IN ('r', 'p') THEN ARRAY(
             SELECT (SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k) FROM generate_series(1, i.indnkeyatts) k)
               FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL) END,
           'rights', CASE c.relkind
             WHEN 'S' THEN ARRAY(SELECT 'USAGE' WHERE has_sequence_privilege(c.oid, 'USAGE'))
             ELSE ARRAY(SELECT r FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) r WHERE has_table_privilege(c.oid, r)) END))
            FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'S')), '{}') AS tables
    FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = $1`;

/** What the schema has of our tables, and what our database user may do with them. */
interface OwnTablesFacts extends Omit<Found, 'tables'> {
  /** Tables, and columns of tables that are there, such as `timeout.lease`. */
  readonly missing: readonly string[];
  /** Unique indexes and functions that are not there. What is there can be read without them. */
  readonly lost: readonly string[];
  /** Rights that we need and do not have, such as `INSERT on orders`. */
  readonly lacking: readonly string[];
}

async function readOwnTables(dataSource: DataSource, schema: string): Promise<OwnTablesFacts> {
  const [{ tables, ...facts }] = await ownQuery<[Found]>(dataSource, SQL, [schema]);
  const wanted = Object.entries(OWN_TABLES);
  const missing = wanted.flatMap(([name, { columns }]) => {
    const there = tables[name]?.columns;
    const absent = columns.split(' ').filter((column) => there && !there.includes(column));
    return there ? absent.map((column) => `${name}.${column}`) : [name];
  });
  const lostKeys = wanted.flatMap(([name, { keys = [] }]) => {
    const there = tables[name]?.keys ?? keys;
    return keys.filter((key) => !there.includes(key)).map((key) => `the unique index of ${name} (${key})`);
  });
  const lostFunctions = OWN_FUNCTIONS.filter((name) => facts.functions[name] === undefined);
  const lost = [...lostKeys, ...lostFunctions.map((name) => `the function ${name}`)];
  // Each start reads which migrations were run.
  const records = Object.keys(tables).filter((name) => name.endsWith('migrations'));
  const needed = [...wanted, ...records.map((name) => [name, { rights: ['SELECT'] }] as const)];
  const refused = Object.entries(facts.functions).filter(([, mayExecute]) => !mayExecute);
  const ofTables = needed.flatMap(([name, { rights = INSERTED }]) => {
    const granted = tables[name]?.rights ?? rights;
    return rights.filter((right) => !granted.includes(right)).map((right) => `${right} on ${name}`);
  });
  const lacking = [...ofTables, ...refused.map(([name]) => `EXECUTE on ${name}`)];
  return { ...facts, missing, lost, lacking };
}

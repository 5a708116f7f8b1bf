import { type ClaimFact } from '../support/checks/money-checks';
import { claimsSql, Records } from '../support/checks/records';
import { WIRE } from './clerk';
import { type Kernel } from './kernel';

/** An order as it was when it was purged. */
interface PastOrder {
  readonly id: string;
  readonly status: string;
}

export interface PastFacts {
  /** Orders that the purge has deleted. */
  readonly gone: readonly PastOrder[];
  /** Those whose payments no table of the product names any more, also if they are purged since. */
  readonly erased: ReadonlySet<string>;
  /** References of payments, also of purged orders, that no word of a provider has ever confirmed. */
  readonly reported: ReadonlySet<string>;
  /** What purged orders counted on, and erased ones under its old names. */
  readonly claims: readonly ClaimFact[];
}

/** What a timeout says after a failure of the database, which is nobody's fault. */
export const OUTAGE = 'refused by the world|Connection terminated|connection is refused';

/** SQL: keeps what the purge deletes and an erasure overwrites, as it was just before. For a migrated database. */
export const KEEP_PAST = `
  CREATE TABLE sim.past_order (LIKE order_timeout.orders);
  CREATE TABLE sim.past_attempt (LIKE order_timeout.payment_attempt);
  CREATE TABLE sim.past_chargeback (LIKE order_timeout.unmatched_payment);
  CREATE TABLE sim.erased_early (says text);
  CREATE TABLE sim.counted (says text);
  CREATE FUNCTION sim.note_counted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO sim.counted
      VALUES (NEW.kind || ' ' || NEW.key || ' counts a failure of the database: ' || NEW.last_error);
      RETURN NULL;
    END $$;
  CREATE FUNCTION sim.note_early() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO sim.erased_early
      SELECT NEW.id || ' was erased, and has ' || reason || ' of ' || reference FROM order_timeout.unmatched_payment
       WHERE order_id = NEW.id AND handling = 'kept'
      UNION ALL SELECT NEW.id || ' was erased, and has a refund of ' || reference FROM order_timeout.refund
       WHERE order_id = NEW.id AND status <> 'REFUNDED'
      UNION ALL SELECT NEW.id || ' was erased, and has ' || status || ' ' || reference FROM order_timeout.payment_attempt
       WHERE order_id = NEW.id AND status IN ('CREATED', 'OPEN', 'REFUNDING')
      UNION ALL SELECT NEW.id || ' was erased, and has ' || kind FROM order_timeout.timeout WHERE key = NEW.id;
      RETURN NULL;
    END $$;
  CREATE TRIGGER note_early AFTER UPDATE ON order_timeout.orders
    FOR EACH ROW WHEN (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL) EXECUTE FUNCTION sim.note_early();
  CREATE FUNCTION sim.keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN EXECUTE format('INSERT INTO sim.%I SELECT $1.*', TG_ARGV[0]) USING OLD; RETURN OLD; END $$;
  CREATE TRIGGER keep BEFORE DELETE ON order_timeout.orders FOR EACH ROW EXECUTE FUNCTION sim.keep('past_order');
  CREATE TRIGGER keep_deleted AFTER DELETE ON order_timeout.payment_attempt
    FOR EACH ROW WHEN (OLD.reference NOT LIKE 'erased:%') EXECUTE FUNCTION sim.keep('past_attempt');
  CREATE TRIGGER keep_erased AFTER UPDATE ON order_timeout.payment_attempt
    FOR EACH ROW WHEN (OLD.reference NOT LIKE 'erased:%' AND NEW.reference LIKE 'erased:%')
    EXECUTE FUNCTION sim.keep('past_attempt');
  CREATE TRIGGER keep_settled AFTER DELETE ON order_timeout.unmatched_payment
    FOR EACH ROW WHEN (OLD.reason = 'chargeback') EXECUTE FUNCTION sim.keep('past_chargeback');
  CREATE TRIGGER note_counted AFTER UPDATE ON order_timeout.timeout
    FOR EACH ROW WHEN (NEW.attempts > OLD.attempts AND NEW.last_error ~ '${OUTAGE}') EXECUTE FUNCTION sim.note_counted()`;

export async function pastFacts(kernel: Kernel): Promise<PastFacts> {
  const erased = await kernel.query<{ id: string }>(`
    SELECT id FROM order_timeout.orders WHERE erased_at IS NOT NULL
    UNION SELECT id FROM sim.past_order WHERE erased_at IS NOT NULL`);
  const reported = await kernel.query<{ reference: string }>(
    `SELECT reference FROM (SELECT reference, status, paid_source FROM order_timeout.payment_attempt
                            UNION ALL SELECT reference, status, paid_source FROM sim.past_attempt) a
      WHERE status = 'PAID' AND paid_source = 'report'`,
  );
  return {
    gone: await kernel.query<PastOrder>('SELECT id, status FROM sim.past_order'),
    reported: new Set(reported.map(({ reference }) => reference)),
    erased: new Set(erased.map(({ id }) => id)),
    claims: await kernel.query<ClaimFact>(CLAIMS),
  };
}

const ORDERS = `(SELECT id, amount, status FROM order_timeout.orders
                 UNION ALL SELECT id, amount, status FROM sim.past_order)`;

/** The first word of a provider about what was only reported is told to a person, also if its order is gone. */
const CLAIMS = `${claimsSql('sim.past_attempt', ORDERS)}
  AND (a.paid_source IS DISTINCT FROM 'report' OR a.provider = '${WIRE}')`;

export function recordsOf(kernel: Kernel): Records {
  return Records.on(<T>(sql: string) => kernel.query(sql) as Promise<T>);
}

import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * History stays append-only with two exceptions: entries of a deleted order may be deleted, and personal data may be
 * removed from the entries of an order that is marked as erased. Every other change is rejected.
 */
export function letHistoryGo(schema: string): new () => MigrationInterface {
  return class LetHistoryGo1765200000800 implements MigrationInterface {
    readonly name = 'LetHistoryGo1765200000800';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.orders ADD COLUMN erased_at timestamptz(3)`);
      await runner.query(historyRuleSql(schema));
      await runner.query(`DROP TRIGGER order_history_append_only ON ${schema}.order_history`);
      await runner.query(`
        CREATE TRIGGER order_history_append_only BEFORE UPDATE OR DELETE ON ${schema}.order_history
           FOR EACH ROW EXECUTE FUNCTION ${schema}.guard_history()`);
      await runner.query(`
        CREATE TRIGGER order_history_no_truncate BEFORE TRUNCATE ON ${schema}.order_history
           FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_history_change()`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP TRIGGER order_history_no_truncate ON ${schema}.order_history`);
      await runner.query(`DROP TRIGGER order_history_append_only ON ${schema}.order_history`);
      await runner.query(`
        CREATE TRIGGER order_history_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${schema}.order_history
           FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_history_change()`);
      await runner.query(`DROP FUNCTION ${schema}.guard_history()`);
      await runner.query(`ALTER TABLE ${schema}.orders DROP COLUMN erased_at`);
    }
  };
}

/** Columns of an entry that may be cleared. All others stay as they are. */
const ERASABLE = ['actor', 'reason', 'evidence', 'traceparent'] as const;
const FIXED = ['order_id', 'version', 'from_status', 'to_status', 'cause', 'occurred_at'] as const;

function historyRuleSql(schema: string): string {
  const of = (row: string): string => FIXED.map((column) => `${row}.${column}`).join(', ');
  const onlyRemoved = ERASABLE.map((column) => `(NEW.${column} IS NULL OR NEW.${column} = OLD.${column})`).join(
    ' AND ',
  );
  return `
    CREATE FUNCTION ${schema}.guard_history() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = OLD.order_id) THEN RETURN OLD; END IF;
      ELSIF (${of('NEW')}) IS NOT DISTINCT FROM (${of('OLD')}) AND ${onlyRemoved} THEN
        IF EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = OLD.order_id AND o.erased_at IS NOT NULL) THEN
          RETURN NEW;
        END IF;
      END IF;
      RAISE EXCEPTION 'order_history is append-only' USING ERRCODE = 'restrict_violation',
        HINT = 'Entries go with their order; personal data goes by erasing it.';
    END $$`;
}

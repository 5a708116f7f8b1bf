import { handOverAt } from './hand-over-at';
import { wakeUpBodySql } from './wake-up-body';

/** What the wake-ups of a statement are made of. Every value is SQL. */
interface WakeUpSource {
  /** What follows FROM. Its rows have the columns `kind`, `key`, `generation`, and `traceparent`. */
  readonly from: string;
  /** UUID of the message. */
  readonly id: string;
  readonly dueAt: string;
  /** How far ahead of `dueAt` the relay may take them, milliseconds. Absent: it takes them at once. */
  readonly horizonMs?: string;
}

/** SQL that writes a wake-up for each row of `from`. It stands in a WITH clause or by itself. */
export function insertWakeUps(schema: string, { from, id, dueAt, horizonMs }: WakeUpSource): string {
  const availableAt = horizonMs === undefined ? 'now()' : handOverAt(dueAt, horizonMs);
  return `
    INSERT INTO ${schema}.outbox (id, route, routing_key, body, traceparent, deliver_at, available_at)
    SELECT ${id}, 'wake-up', kind, ${wakeUpBodySql(dueAt)}, traceparent, ${dueAt}, ${availableAt}
      FROM ${from}`;
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ring } from '../contestant';
import { type RunBooks } from './run-books';

const TOP = 25;

/** Begins to count the statements of this run, where profiles are wanted. */
export async function beginStatistics(ring: Ring, books: RunBooks): Promise<void> {
  if (ring.profileFolder === undefined) return;
  await books.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  await books.query(`ALTER SYSTEM SET pg_stat_statements.track_planning = 'on'`);
  await books.query('SELECT pg_reload_conf()');
  await books.query('SELECT pg_stat_statements_reset()');
}

/** Writes down what the database did, the most expensive statement first. */
export async function writeStatistics(ring: Ring, books: RunBooks, name: string): Promise<void> {
  if (ring.profileFolder === undefined) return;
  const rows = await books.query<Record<string, unknown>>(
    `SELECT calls, rows, round(total_exec_time) AS total_ms, round(total_plan_time) AS plan_ms,
            round(((total_plan_time + total_exec_time) / NULLIF(calls, 0))::numeric, 3) AS ms_each, wal_bytes,
            left(regexp_replace(query, '\\s+', ' ', 'g'), 160) AS query
       FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      ORDER BY total_exec_time + total_plan_time DESC LIMIT ${TOP}`,
  );
  const lines = rows.map((row) => Object.values(row).map(String).join('\t'));
  writeFileSync(
    join(ring.profileFolder, `${name}.statements.tsv`),
    `${Object.keys(rows[0] ?? {}).join('\t')}\n${lines.join('\n')}\n`,
  );
}

import { sql } from 'drizzle-orm';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { type PgDatabase, type PgQueryResultHKT, pgTable, text } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { Pool } from 'pg';
import postgres from 'postgres';
import { fromDrizzle } from '../../../../src/public/transactions';
import { type HostLibrary, type HostTransaction } from '../../../support/host-library';

type Database = PgDatabase<PgQueryResultHKT>;
type Tx = Parameters<Parameters<Database['transaction']>[0]>[0];

const hostNote = pgTable('host_note', { text: text().primaryKey() });

const hostOf = (tx: Tx): HostTransaction => ({
  tx: fromDrizzle(tx, sql),
  note: (note) => tx.insert(hostNote).values({ text: note }),
  nest: (work) => tx.transaction((nested) => work(hostOf(nested))),
});

const hostWith = (db: Database, close: HostLibrary['close']): HostLibrary => ({
  run: (work, level) =>
    db.transaction((tx) => work(hostOf(tx)), { isolationLevel: level ? 'repeatable read' : 'read committed' }),
  outside: () => fromDrizzle(db, sql),
  close,
});

export function openDrizzleOnPg(url: string): HostLibrary {
  const pool = new Pool({ connectionString: url, max: 3 });
  return hostWith(drizzlePg(pool), () => pool.end());
}

export function openDrizzleOnPostgres(url: string): HostLibrary {
  const client = postgres(url, { max: 3 });
  return {
    ...hostWith(drizzlePostgres(client), () => client.end()),
    rollsBackFailures: true,
    forgetsLateStatements: true,
  };
}

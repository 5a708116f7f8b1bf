import { sql } from 'drizzle-orm';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { Pool } from 'pg';
import postgres from 'postgres';
import { fromDrizzle } from '../../src';
import { describeHostLibrary } from '../support/describe-host-library';
import { type HostLibrary } from '../support/host-library';

const hostNote = pgTable('host_note', { text: text().primaryKey() });
const levelOf = (level?: string) => ({
  isolationLevel: level ? ('repeatable read' as const) : ('read committed' as const),
});

function openOnPg(url: string): HostLibrary {
  const pool = new Pool({ connectionString: url, max: 3 });
  const db = drizzlePg(pool);
  return {
    run: (work, level) =>
      db.transaction(
        (tx) => work({ tx: fromDrizzle(tx, sql), note: (note) => tx.insert(hostNote).values({ text: note }) }),
        levelOf(level),
      ),
    outside: () => fromDrizzle(db, sql),
    close: () => pool.end(),
  };
}

function openOnPostgres(url: string): HostLibrary {
  const client = postgres(url, { max: 3 });
  const db = drizzlePostgres(client);
  return {
    run: (work, level) =>
      db.transaction(
        (tx) => work({ tx: fromDrizzle(tx, sql), note: (note) => tx.insert(hostNote).values({ text: note }) }),
        levelOf(level),
      ),
    outside: () => fromDrizzle(db, sql),
    close: () => client.end(),
  };
}

describeHostLibrary('Drizzle on pg', openOnPg);
describeHostLibrary('Drizzle on postgres.js', openOnPostgres);

import { type ClientConfig } from 'pg';
import { AttentiveClient } from './attentive-client';

/**
 * A plan that was made while a table was empty reads all of it, and PostgreSQL keeps it until the table is analysed,
 * a minute later at best. Planning anew takes some 10 ms a connection for all statements, so every ten seconds is cheap.
 */
const PLAN_AGE_MS = 10_000;
const PLAN_ANEW = 'SET plan_cache_mode = force_generic_plan; DISCARD PLANS';
/** PostgreSQL keeps each on every connection for ever: whoever builds texts from values must not fill its memory. */
const MAX_STATEMENTS = 500;

/** Names of statements by text, the same on every connection of the process. */
const names = new Map<string, string>();

type Query = (...given: unknown[]) => unknown;

/**
 * A client that prepares each statement with parameters once a connection and lets PostgreSQL keep its plan: planning
 * was 40 % of what the database did for orders that fall due one by one. Not through a pooler that pools by transaction
 * and keeps no prepared statements, such as PgBouncer before 1.21.
 *
 * A host whose DataSource is to have it says `extra: { Client: PreparingClient }`.
 */
export class PreparingClient extends AttentiveClient {
  private plannedAtMs = -Infinity;

  constructor(config?: string | ClientConfig) {
    super(config);
    const query = this.query.bind(this) as Query;
    this.query = ((...given: unknown[]) => {
      const prepared = prepare(given);
      if (!prepared) return query(...given);
      if (performance.now() - this.plannedAtMs < PLAN_AGE_MS) return query(prepared);
      return this.planAnew(query).then(() => query(prepared));
    }) as typeof this.query;
  }

  /** Never rejects: it fails with the transaction or the connection that it is sent in, and so does what follows it. */
  private planAnew(query: Query): Promise<unknown> {
    this.plannedAtMs = performance.now();
    return (query(PLAN_ANEW) as Promise<unknown>).catch(() => undefined);
  }
}

/** Undefined for what is not `(text, values)`: those of TypeORM without values are few and cheap to plan. */
function prepare(given: readonly unknown[]): { name: string; text: string; values: unknown[] } | undefined {
  const [text, values] = given;
  if (given.length !== 2 || typeof text !== 'string' || !Array.isArray(values) || values.length === 0) return undefined;
  const name = nameOf(text);
  return name === undefined ? undefined : { name, text, values };
}

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_STATEMENTS) return known;
  const name = `order-timeout-${names.size}`;
  names.set(text, name);
  return name;
}

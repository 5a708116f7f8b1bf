import { type ClientConfig, DatabaseError } from 'pg';
import { CodedError } from '../errors';
import { ResilientClient } from './resilient-client';

/**
 * Settings for connections of the service alone, where every statement goes by an index whatever its values are. Somebody
 * else's may need a plan for their values: generic plans have no use for partial indexes and skewed columns. Not sent as
 * options of the connection: poolers refuse those, and a URL that has its own would replace them.
 */
export const PLAN_BY_INDEX = 'SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off';

/**
 * A plan is as good as the table was when it was made, and PostgreSQL keeps it until the table is analysed, a minute later
 * at best. Planning all statements anew takes some 10 ms a connection, so every ten seconds is cheap.
 */
const PLAN_AGE_MS = 10_000;
/** PostgreSQL keeps each on every connection forever: texts that are built from values would fill its memory. */
const MAX_STATEMENTS = 500;

/** Names of statements by text, the same on every connection of the process. */
const names = new Map<string, string>();
let named = 0;

type Query = (...given: unknown[]) => unknown;

/**
 * A client that prepares each statement with parameters once a connection, for PostgreSQL to keep its plan where that is as
 * good as one for the values: planning was 40 % of what the database did for orders that fall due one by one. For the
 * DataSource of a host, too: `extra: { Client: PreparingClient }`; not through a pooler that pools by transaction.
 *
 * When a migration changes what a statement returns (`SELECT *`), it fails once with 0A000 and then has another name.
 */
export class PreparingClient extends ResilientClient {
  private plannedAtMs = performance.now();
  private discarding: Promise<unknown> | undefined;

  constructor(config?: string | ClientConfig) {
    super(config);
    const query = this.query.bind(this) as Query;
    const send = (given: unknown[]): unknown => {
      const prepared = prepare(given);
      return prepared ? renamed(prepared.text, query(prepared) as Promise<unknown>) : query(...given);
    };
    this.query = ((...given: unknown[]) => {
      // Cursors and streams queue themselves.
      if (typeof given[0] !== 'string') return send(given);
      if (performance.now() - this.plannedAtMs >= PLAN_AGE_MS) this.discardPlans(query);
      // Whatever comes meanwhile waits too, or it would overtake what came before it.
      return this.discarding ? this.discarding.then(() => send(given)) : send(given);
    }) as typeof this.query;
  }

  /** Never rejects: it fails with the transaction or the connection that it is sent in, and so does what follows it. */
  private discardPlans(query: Query): void {
    this.plannedAtMs = performance.now();
    this.discarding = (query('DISCARD PLANS') as Promise<unknown>)
      .catch(() => undefined)
      .finally(() => (this.discarding = undefined));
  }
}

/** A statement that PostgreSQL does not take any more under its name is prepared anew, on every connection. */
async function renamed(text: string, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    if (isOutdated(error)) names.delete(text);
    throw NOT_OURS.includes(error.code ?? '') ? new PooledSessionError(error) : error;
  }
}

/**
 * invalid_sql_statement_name, duplicate_prepared_statement: each connection prepares a name once, before it uses it, so
 * another connection has the same session at times.
 */
const NOT_OURS = ['26000', '42P05'];

/** PostgreSQL does not know the statement that this connection prepared, or already has it from another one. */
class PooledSessionError extends CodedError {
  constructor(cause: Error) {
    super(
      'POOLED_SESSION',
      `${cause.message}: a pooler in transaction mode, such as PgBouncer, shares the session. ` +
        'Set DATABASE_PREPARED_STATEMENTS=off, or `extra.Client` of your DataSource to ResilientClient',
      { cause },
    );
  }
}

/** What it returns was changed by a migration, or the session is another one. */
function isOutdated({ code, routine }: DatabaseError): boolean {
  return code === '26000' || (code === '0A000' && routine === 'RevalidateCachedQuery');
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
  if (known !== undefined || named >= MAX_STATEMENTS) return known;
  const name = `order-timeout-${named++}`;
  names.set(text, name);
  return name;
}

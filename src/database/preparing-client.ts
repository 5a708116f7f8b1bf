import { type ClientConfig, DatabaseError } from 'pg';
import { AttentiveClient } from './attentive-client';

/**
 * For connections of the service alone, where every statement goes by an index whatever its values are. Somebody else's may
 * need a plan for their values: generic plans have no use for partial indexes and skewed columns.
 */
export const PLANNER_OPTIONS = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off';

/**
 * A plan is as good as the table was when it was made, and PostgreSQL keeps it until the table is analysed, a minute later
 * at best. Planning all statements anew takes some 10 ms a connection, so every ten seconds is cheap.
 */
const PLAN_AGE_MS = 10_000;
/** PostgreSQL keeps each on every connection for ever: whoever builds texts from values must not fill its memory. */
const MAX_STATEMENTS = 500;
/** A migration has changed what the statement returns; or the statement is gone. Neither heals on this connection. */
const OUTDATED = ['0A000', '26000'];

/** Names of statements by text, the same on every connection of the process. */
const names = new Map<string, string>();

type Query = (...given: unknown[]) => unknown;

/**
 * A client that prepares each statement with parameters once a connection, for PostgreSQL to keep its plan where that is as
 * good as one for the values: planning was 40 % of what the database did for orders that fall due one by one. For the
 * DataSource of a host, too: `extra: { Client: PreparingClient }`; not through a pooler that pools by transaction.
 *
 * When a migration changes what a statement returns (`SELECT *`), a connection that has prepared it fails once more with
 * 0A000 and is replaced.
 */
export class PreparingClient extends AttentiveClient {
  private plannedAtMs = performance.now();
  private discarding: Promise<unknown> | undefined;

  constructor(config?: string | ClientConfig) {
    super(config);
    const query = this.query.bind(this) as Query;
    const send = (given: unknown[]): unknown => {
      const prepared = prepare(given);
      return prepared ? this.noticeOutdated(query(prepared) as Promise<unknown>) : query(...given);
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

  private noticeOutdated(answer: Promise<unknown>): Promise<unknown> {
    answer.catch((error: unknown) => {
      if (error instanceof DatabaseError && OUTDATED.includes(error.code ?? '')) this.hangUp(error.message);
    });
    return answer;
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

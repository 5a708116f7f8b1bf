import { Inject, Injectable, Logger } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { CLOCK, type Clock } from '../../clock';
import { Database, isContention, isDatabaseUnavailable } from '../../database';
import { InvalidOrderError } from '../model/errors';
import { EndOrder } from '../close/end-order';
import { Deadlines, type NewDeadline } from '../deadline/deadline';
import { type Actor, byOperator } from '../model/transition';
import { checkBulk } from '../input/check-input';
import { type OrderFilter, decodePosition, encodePosition, type OrderPosition } from '../model/order-filter';
import { LIMITS } from '../model/order-policies';
import { ListOrders } from '../read/read-orders';

/** Who acts. An action on many orders must have a name in their histories. */
export interface BulkOptions {
  readonly by: Actor & { readonly actor: string };
}

/** Which orders a bulk action changes. It must have at least one field. */
export interface BulkFilter extends Omit<OrderFilter, 'status'> {
  /** @default those that the action can change */
  readonly status?: readonly ('PENDING' | 'CLOSING')[] | undefined;
  /** Only orders of these merchants. @default all */
  readonly merchants?: readonly string[] | undefined;
}

/** An action on many orders. Each call handles a part of them. */
export interface BulkRequest {
  readonly filter: BulkFilter;
  /** For the history of each order. */
  readonly reason: string;
  /** True: nothing changes, and the result says what would. @default false */
  readonly dryRun?: boolean | undefined;
  /** The most orders of one call, 1 to 1000. @default 1000 */
  readonly limit?: number | undefined;
  /** `next` of the previous call. */
  readonly cursor?: string | undefined;
}

/** Moves deadlines. Give exactly one of `expiresAt` and `byMs`. */
export interface BulkExtension extends BulkRequest, Pick<NewDeadline, 'expiresAt' | 'byMs'> {
  /** Chosen by you: an order is extended once for each id, however often you repeat a call. Like an order id. */
  readonly actionId: string;
}

/** One order of a bulk action. */
export interface BulkOutcome {
  readonly id: string;
  /**
   * The outcome of the single action, or the code of its rejection. `BUSY`: the order is locked, so repeat the call.
   * `FAILED`: an error of this order alone, for example of a listener, which the log has.
   */
  readonly outcome: string;
}

/** What one call did. */
export interface BulkResult {
  readonly dryRun: boolean;
  /** Orders that this call handled. */
  readonly count: number;
  /** How many orders had which outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** At most 20 of the orders, the rejected ones first. */
  readonly sample: readonly BulkOutcome[];
  /** The `cursor` of the next call. Null: all orders are handled. */
  readonly next: string | null;
}

interface Result {
  readonly outcome: string;
  readonly code?: string;
}

/** The single action on one order, in a transaction of its own if there is no `tx`. */
type Act = (orderId: string, tx: EntityManager | undefined) => Promise<Result>;

/** Orders at the same time. More would take connections from requests and deadlines. */
const LANES = 4;

/** After this time, no further order is begun. */
const BUDGET_MS = 10_000;
const SAMPLE = 20;

@Injectable()
export class BulkRun {
  private readonly logger = new Logger('BulkActions');

  constructor(
    private readonly database: Database,
    private readonly listing: ListOrders,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute(request: BulkRequest, open: readonly ('PENDING' | 'CLOSING')[], act: Act): Promise<BulkResult> {
    const { filter, dryRun = false, limit = LIMITS.orders, cursor } = request;
    const endsAt = this.clock.monotonic() + BUDGET_MS;
    const after = cursor === undefined ? undefined : decodePosition(cursor);
    const { positions, next } = await this.listing.find({ ...filter, status: filter.status ?? open }, after, limit);
    let outcomes: readonly BulkOutcome[] = [];
    while (outcomes.length < positions.length && this.clock.monotonic() < endsAt) {
      const group = positions.slice(outcomes.length, outcomes.length + LANES);
      outcomes = outcomes.concat(await Promise.all(group.map(({ id }) => this.outcomeOf(id, dryRun, act))));
    }
    const isWhole = outcomes.length === positions.length;
    return { dryRun, ...summaryOf(outcomes), next: textOf(isWhole ? next : positions[outcomes.length - 1]) };
  }

  /** A locked order, or one that fails, is counted, and does not stop the others. */
  private async outcomeOf(id: string, dryRun: boolean, act: Act): Promise<BulkOutcome> {
    try {
      const { outcome, code } = dryRun ? await rehearse(this.database, (tx) => act(id, tx)) : await act(id, undefined);
      return { id, outcome: code ?? outcome };
    } catch (error) {
      if (isContention(error)) return { id, outcome: 'BUSY' };
      if (isDatabaseUnavailable(error) || error instanceof InvalidOrderError) throw error;
      this.logger.error(`order ${id} failed: ${String(error)}`, error instanceof Error ? error.stack : undefined);
      return { id, outcome: 'FAILED' };
    }
  }
}

/**
 * Operator actions on all orders of a filter, for example after an outage of a provider. Get it from `orders.bulk`.
 *
 * A call handles at most 1000 orders or takes about ten seconds, and returns `next`. Call again with it as `cursor` until
 * it is null. Each order is changed in a transaction of its own, by the rules of the single action, and once: you may
 * repeat any call. Orders that are placed after the first call are left out.
 *
 * All methods throw `InvalidOrderError` if the request is malformed or names no actor. Nothing was written then.
 */
@Injectable()
export class BulkActions {
  /** @internal Nest creates it. */
  constructor(
    private readonly run: BulkRun,
    private readonly deadlines: Deadlines,
    private readonly ending: EndOrder,
  ) {}

  /** Moves the deadlines of PENDING orders, even of overdue ones. */
  async extend(request: BulkExtension, options: BulkOptions): Promise<BulkResult> {
    checkBulk('bulkExtension', request, options);
    const { byMs, expiresAt, reason, actionId } = request;
    const by = byOperator(options.by);
    return this.run.execute(request, ['PENDING'], (orderId, tx) =>
      this.deadlines.extendOnce({ orderId, byMs, expiresAt, reason }, actionId, { by, tx }),
    );
  }

  /** Cancels orders that are not decided yet. */
  async cancel(request: BulkRequest, options: BulkOptions): Promise<BulkResult> {
    checkBulk('bulk', request, options);
    const by = byOperator(options.by);
    return this.run.execute(request, ['PENDING', 'CLOSING'], (orderId, tx) =>
      this.ending.cancel({ orderId, reason: request.reason }, { by, tx }),
    );
  }

  /** Closes unpaid orders now. Their open attempts are closed at the providers first. */
  async close(request: BulkRequest, options: BulkOptions): Promise<BulkResult> {
    checkBulk('bulk', request, options);
    return this.run.execute(request, ['PENDING', 'CLOSING'], (orderId, tx) =>
      this.ending.close({ orderId, reason: request.reason }, { by: options.by, tx }),
    );
  }
}

function textOf(position: OrderPosition | undefined): string | null {
  return position ? encodePosition(position) : null;
}

function summaryOf(all: readonly BulkOutcome[]): Pick<BulkResult, 'count' | 'outcomes' | 'sample'> {
  const outcomes: Record<string, number> = {};
  for (const { outcome } of all) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const sample = [...all].sort((a, b) => Number(isCode(b.outcome)) - Number(isCode(a.outcome))).slice(0, SAMPLE);
  return { count: all.length, outcomes, sample };
}

/** Outcomes are in lower case. */
function isCode(outcome: string): boolean {
  return outcome === outcome.toUpperCase();
}

/** Carries the result out of the transaction, which it rolls back. */
class Rehearsed<T> extends Error {
  constructor(readonly result: T) {
    super('a dry run changes nothing');
  }
}

const LOCK_MS = 500;

/** Runs `work` and takes everything back. So a dry run decides by the same rules and rows as the real one. */
async function rehearse<T>(database: Database, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  try {
    return await database.transaction(
      async (tx) => {
        throw new Rehearsed(await work(tx));
      },
      { lockMs: LOCK_MS },
    );
  } catch (error) {
    if (error instanceof Rehearsed) return error.result as T;
    throw error;
  }
}

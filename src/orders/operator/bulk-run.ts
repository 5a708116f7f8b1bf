import { type DataSource, type EntityManager } from 'typeorm';
import { type Clock } from '../../clock';
import { isContention } from '../../database';
import { LIMITS } from '../limits';
import { type ListOrders } from '../read/list-orders';
import { decodePosition, encodePosition, type OrderPosition } from '../read/order-position';
import { type BulkOutcome, type BulkRequest, type BulkResult } from './bulk-request';
import { rehearse } from './rehearse';

interface Dependencies {
  readonly dataSource: DataSource;
  readonly listing: ListOrders;
  readonly clock: Clock;
}

/** The result of a single action. */
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

/** Runs a single action on the orders of a filter, newest first. */
export class BulkRun {
  constructor(private readonly deps: Dependencies) {}

  async execute(request: BulkRequest, open: readonly ('PENDING' | 'CLOSING')[], act: Act): Promise<BulkResult> {
    const { filter, dryRun = false, limit = LIMITS.orders, cursor } = request;
    const endsAt = this.deps.clock.monotonic() + BUDGET_MS;
    const after = cursor === undefined ? undefined : decodePosition(cursor);
    const { positions, next } = await this.deps.listing.find(
      { ...filter, status: filter.status ?? open },
      after,
      limit,
    );
    let outcomes: readonly BulkOutcome[] = [];
    while (outcomes.length < positions.length && this.deps.clock.monotonic() < endsAt) {
      const group = positions.slice(outcomes.length, outcomes.length + LANES);
      outcomes = outcomes.concat(await Promise.all(group.map(({ id }) => this.outcomeOf(id, dryRun, act))));
    }
    const isWhole = outcomes.length === positions.length;
    return { dryRun, ...summaryOf(outcomes), next: textOf(isWhole ? next : positions[outcomes.length - 1]) };
  }

  /** A locked order is counted, and does not stop the others. */
  private async outcomeOf(id: string, dryRun: boolean, act: Act): Promise<BulkOutcome> {
    try {
      const { outcome, code } = dryRun
        ? await rehearse(this.deps.dataSource, (tx) => act(id, tx))
        : await act(id, undefined);
      return { id, outcome: code ?? outcome };
    } catch (error) {
      if (isContention(error)) return { id, outcome: 'BUSY' };
      throw error;
    }
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

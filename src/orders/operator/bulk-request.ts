import { type NewDeadline } from '../deadline/extend-deadline';
import { type OrderFilter } from '../read/order-filter';

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
  /** The outcome of the single action, or the code of its rejection; `BUSY`: the order is locked, so repeat the call. */
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

import { type DataSource } from 'typeorm';
import { type OperatorOptions } from '../action-options';
import { type AssignUnmatched, type AssignUnmatchedResult, type UnmatchedAssignment } from './assign-unmatched';
import {
  type ReopenUnmatchedResult,
  type SettleUnmatched,
  type SettleUnmatchedResult,
  type UnmatchedSettlement,
} from './settle-unmatched';
import { type UnmatchedPayment } from './unmatched-payment';
import { type UnmatchedRows } from './unmatched-rows';

/** Before every id. */
const BEGINNING = '00000000-0000-0000-0000-000000000000';

interface Dependencies {
  readonly dataSource: DataSource;
  readonly rows: UnmatchedRows;
  readonly assigning: AssignUnmatched;
  readonly settling: SettleUnmatched;
}

/** Which unmatched payments to list. */
export interface UnmatchedPage {
  /** 1 to 1000. @default 100 */
  readonly limit?: number | undefined;
  /** The last id of the previous page. */
  readonly after?: string | undefined;
  /** Only payments whose order belongs to one of these, which excludes payments without an order. @default all */
  readonly merchants?: readonly string[] | undefined;
}

/** Money that no order takes and that waits for a person or for the deadline of its order. Get it from `orders.unmatched`. */
export class UnmatchedPayments {
  /** @internal Nest creates it. */
  constructor(private readonly deps: Dependencies) {}

  /** Lists payments with the handling `kept` or `waiting`, oldest first. */
  list({ limit = 100, after = BEGINNING, merchants }: UnmatchedPage = {}): Promise<UnmatchedPayment[]> {
    return this.deps.rows.page(this.deps.dataSource, { limit, after, merchants });
  }

  /** Reads one of them, handled or not. Undefined: there is none. */
  get(id: string, { merchants }: Pick<UnmatchedPage, 'merchants'> = {}): Promise<UnmatchedPayment | undefined> {
    return this.deps.rows.find(this.deps.dataSource, id, merchants);
  }

  /**
   * Operator: books the payment on the order that was paid, by the rules for every payment. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  assign(request: UnmatchedAssignment, options?: OperatorOptions): Promise<AssignUnmatchedResult> {
    return this.deps.assigning.execute(request, options);
  }

  /**
   * Operator: records that the payment was handled outside of this system. It moves no money. From then on, the payment
   * counts as no money: it pays and revives no order, and is not refunded. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  settle(request: UnmatchedSettlement, options?: OperatorOptions): Promise<SettleUnmatchedResult> {
    return this.deps.settling.execute(request, options);
  }

  /**
   * Operator: takes a settlement back. The payment counts as money again, and waits for a person. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  reopen(request: UnmatchedSettlement, options?: OperatorOptions): Promise<ReopenUnmatchedResult> {
    return this.deps.settling.reopen(request, options);
  }

  /** @internal The number of payments that `list` has, at most `limit`. */
  countOpen(limit: number, merchants?: readonly string[]): Promise<number> {
    return this.deps.rows.countOpen(this.deps.dataSource, limit, merchants);
  }

  /** @internal The number of payments that wait for a person: those with the handling `kept`. */
  countKept(): Promise<number> {
    return this.deps.rows.countKept(this.deps.dataSource);
  }
}

import { type DataSource } from 'typeorm';
import { type UnmatchedPayment } from './unmatched-payment';
import { type UnmatchedRows } from './unmatched-rows';

/** Before every id. */
const BEGINNING = '00000000-0000-0000-0000-000000000000';

/** Reads the money that no order takes and that waits for a person or for the deadline of its order. */
export class UnmatchedPayments {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rows: UnmatchedRows,
  ) {}

  /**
   * Returns payments with the handling `kept` or `waiting`, oldest first.
   *
   * @param page `limit` 1 to 1000, default 100 · `after`: the last id of the previous page · `merchants`: only payments
   *   whose order belongs to one of these, which excludes payments without an order. Absent: all.
   */
  list(
    page: { readonly limit?: number; readonly after?: string; readonly merchants?: readonly string[] | undefined } = {},
  ): Promise<UnmatchedPayment[]> {
    const { limit = 100, after = BEGINNING, merchants } = page;
    return this.rows.page(this.dataSource, { limit, after, merchants });
  }

  /** Returns one of them, handled or not. @param merchants as for `list`. */
  find(id: string, merchants?: readonly string[]): Promise<UnmatchedPayment | undefined> {
    return this.rows.find(this.dataSource, id, merchants);
  }

  /** The number of payments that wait for a person: those with the handling `kept`. */
  countKept(): Promise<number> {
    return this.rows.countKept(this.dataSource);
  }
}

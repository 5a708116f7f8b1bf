/** A minute of the next hour. */
export interface DueMinute {
  /** Its beginning, in milliseconds. */
  readonly from: number;
  readonly count: number;
  /** The list of its orders. */
  readonly query: { readonly status: string; readonly expiresFrom: string; readonly expiresTo: string };
}

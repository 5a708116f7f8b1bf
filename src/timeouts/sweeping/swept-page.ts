import { type ScanRange } from '../../database';

/** A locked page of overdue rows, as the sweep asks for it. */
export interface SweptPage {
  readonly rows: number;
  /** What to read next; undefined: this was the last page. */
  readonly next: ScanRange | undefined;
}

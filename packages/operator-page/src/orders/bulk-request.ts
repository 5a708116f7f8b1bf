import { parseExtension } from '../format/parse-extension';
import { type BulkAction, type OrderFilter } from './order-filter';

/** What a person has entered for a bulk action. */
export interface BulkEntry {
  readonly action: BulkAction;
  readonly filter: Omit<OrderFilter, 'q' | 'trace'>;
  readonly reason: string;
  /** By how much to extend, as typed. */
  readonly by: string;
  /** An order is extended once for each. */
  readonly actionId: string;
}

/** The body of a call. */
export function bulkBody(entry: BulkEntry, isDryRun: boolean, cursor: string | undefined): object {
  const { action, filter, reason, by, actionId } = entry;
  return {
    filter,
    reason: reason.trim(),
    dryRun: isDryRun,
    ...(cursor === undefined ? {} : { cursor }),
    ...(action === 'extend' ? { byMs: parseExtension(by), actionId } : {}),
  };
}

/** Unique without the secure context that `crypto.randomUUID` needs. */
export function newActionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

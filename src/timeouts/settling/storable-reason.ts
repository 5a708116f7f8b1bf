import { storableText } from '../../database';

/** Longest reason kept; a stack of a megabyte helps nobody. */
const MAX_LENGTH = 2_000;

/** What went wrong, as PostgreSQL can hold it: no NUL, and no half of an emoji where it was cut. */
export function storableReason(reason: string): string {
  return storableText(reason.slice(0, MAX_LENGTH));
}

/** Longest reason kept; a stack of a megabyte helps nobody. */
const MAX_LENGTH = 2_000;

/** What went wrong, as PostgreSQL can hold it: no NUL, and no half of an emoji where it was cut. */
export function storableReason(reason: string): string {
  const cut = reason.replaceAll('\0', '').slice(0, MAX_LENGTH);
  return Buffer.from(cut, 'utf8').toString('utf8');
}

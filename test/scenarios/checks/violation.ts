/** What kind of promise was broken. The first three are the zeros of the run. */
export const VIOLATION_KINDS = ['charged-closed-unrefunded', 'stock-wrong', 'never-ends', 'other'] as const;

/** A promise that was broken for one order. */
export interface Violation {
  readonly kind: (typeof VIOLATION_KINDS)[number];
  readonly says: string;
}

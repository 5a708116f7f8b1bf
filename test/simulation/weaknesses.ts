/** A change of a line or two that takes back what makes the product safe. */
export interface Weakness {
  readonly name: string;
  /** What is weaker, for the table in the docs. */
  readonly says: string;
  readonly patches: readonly Patch[];
}

/** `find` is there once. */
export interface Patch {
  /** Below src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** The simulation must find each. */
export const WEAKNESSES: readonly Weakness[] = [
  {
    name: 'offers-taken-money',
    says: 'A report for an unknown order offers the payment of another order',
    patches: [
      {
        file: 'orders/pay/mark-paid.ts',
        find: "const reason = isTaken ? 'attempt-mismatch' : 'unknown-order';",
        replace: "const reason = isTaken ? 'unknown-order' : 'unknown-order';",
      },
    ],
  },
];

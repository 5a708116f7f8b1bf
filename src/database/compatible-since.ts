/**
 * For each migration, the newest other one that a release must know to work on what it leaves: that release and this one may
 * run side by side. Null: every instance of an earlier release must be stopped before it is run. What is not listed counts as
 * null.
 *
 * A migration that only adds names the last one of the release before. One that takes away what an earlier one has
 * replaced names that earlier one.
 */
export const COMPATIBLE_SINCE: Readonly<Record<string, string | null>> = {
  CreateOutbox1763600000100: null,
  CreateTimeouts1763600000200: null,
  CreateInventory1763600000300: null,
  CreateOrders1763600000400: null,
  CreateRefunds1763700000500: null,
  IdentifyPayments1764000000600: null,
  AddStockOwners1765100000700: null,
  LetHistoryGo1765200000800: null,
  IndexUndecided1765200001000: null,
  AddOutboxAge1765300001100: 'IndexUndecided1765200001000',
};

/** Undefined: no earlier release works beside this migration. */
export function compatibleSince(name: string): string | undefined {
  return COMPATIBLE_SINCE[name] ?? undefined;
}

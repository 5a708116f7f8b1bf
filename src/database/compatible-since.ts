/**
 * For each migration, the newest earlier migration that a release must know to run beside this one. Null, or not listed: stop
 * every instance of an earlier release first.
 *
 * A migration that only adds names the last one of the release before. So does one that renames a table and leaves a view
 * of the former name. A migration that removes what an earlier one replaced names that earlier one.
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
  RenameUnmatchedPayment1765400001200: 'IndexUndecided1765200001000',
  IndexOrders1765500001700: 'IndexUndecided1765200001000',
  SettleAttempts1766000001800: 'IndexUndecided1765200001000',
  RememberPayments1766000001900: 'IndexUndecided1765200001000',
  IndexEarlyMoney1766000002100: 'IndexUndecided1765200001000',
  ResolveAccounts1766000002200: 'IndexUndecided1765200001000',
  NoteFirstLookUp1766000002400: 'IndexUndecided1765200001000',
  RefundExcess1766000002500: 'IndexUndecided1765200001000',
  RememberRefunds1766000002600: 'IndexUndecided1765200001000',
};

/** Undefined: no earlier release works beside this migration. */
export function compatibleSince(name: string): string | undefined {
  return COMPATIBLE_SINCE[name] ?? undefined;
}

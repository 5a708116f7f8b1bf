import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';

/** What identifies a payment in the database. Account and transaction are empty if none is known. */
export interface PaymentFact {
  readonly provider: string;
  readonly merchantAccount: string;
  readonly reference: string;
  readonly transactionId: string;
}

/** A payment that a PAID order counts on. Minor units as digits. */
export interface ClaimFact extends PaymentFact {
  readonly orderId: string;
  readonly orderAmount: string;
  /** What the order has of it. */
  readonly amount: string;
}

/** A row of unmatched_payment that waits for a person. */
export interface OpenRowFact extends PaymentFact {
  readonly reason: string;
  /** The order that the list shows with it. */
  readonly orderId?: string | null;
}

/** What became of all money, by the provider's books and by the database. */
export interface MoneyFacts {
  readonly ledger: readonly LedgerEntry[];
  readonly claims: readonly ClaimFact[];
  readonly openRows: readonly OpenRowFact[];
}

/** One payment in the provider's books, and who knows of it. */
interface Held {
  readonly entry: LedgerEntry;
  readonly claims: readonly ClaimFact[];
  readonly rows: readonly OpenRowFact[];
}

/**
 * Pure: each unit of money at a provider is needed by exactly one PAID order, or returned, or visible in an open row:
 * exactly once. It asks about the money, and not about the orders, so it also sees money that no order has. The model check
 * has the same rule (test/model/check-units.ts).
 */
export function moneyProblems({ ledger, claims, openRows }: MoneyFacts): string[] {
  const payments = ledger.map((entry): Held => {
    const isIts = (fact: PaymentFact): boolean => isSamePayment(fact, entry) && !isNamedBetter(fact, entry, ledger);
    return { entry, claims: claims.filter(isIts), rows: openRows.filter(isIts) };
  });
  return [
    ...payments.flatMap((payment) => {
      const problem = problemOf(payment);
      return problem === undefined ? [] : [`${payment.entry.provider} ${payment.entry.reference} ${problem}`];
    }),
    ...ordersWithTooMuch(claims, openRows),
  ];
}

function problemOf({ entry, claims, rows }: Held): string | undefined {
  const held = BigInt(entry.paidAmount ?? 0) - BigInt(entry.refundedAmount);
  if (held < 0n) return `was returned twice: ${-held} too much`;
  const [claim, other] = claims;
  if (claim && other) return rows.length > 0 ? undefined : `pays ${claim.orderId} and ${other.orderId}`;
  if (claim) return problemOfClaim(claim, held, rows);
  if (held > 0n) return rows.length > 0 ? undefined : `holds ${held}, and nobody knows`;
  // Whoever reads that the buyer's bank has it does not return it.
  const invites =
    rows.some(({ reason }) => INVITING.includes(reason)) && rows.every(({ reason }) => reason !== 'chargeback');
  return invites && entry.paidAmount !== null ? 'was returned, and a row invites to return it again' : undefined;
}

function problemOfClaim(
  { orderId, amount }: ClaimFact,
  held: bigint,
  rows: readonly OpenRowFact[],
): string | undefined {
  if (rows.some((row) => row.reason === 'unknown-order' && !names(row, orderId)))
    return `pays ${orderId}, and a row offers it to another order`;
  if (held === BigInt(amount) || rows.length > 0) return undefined;
  return `pays ${orderId} with ${amount}, and the provider holds ${held}`;
}

/** Whoever reads the row looks at this order first. */
function names({ reason, orderId }: OpenRowFact, expected: string): boolean {
  return reason === 'unknown-order' && orderId === expected;
}

/** Whole payments that are not needed, and parts of payments, are visible in rows about them. */
function ordersWithTooMuch(claims: readonly ClaimFact[], openRows: readonly OpenRowFact[]): string[] {
  const ids = new Set(claims.map(({ orderId }) => orderId));
  return [...ids].flatMap((id) => {
    const own = claims.filter(({ orderId }) => orderId === id);
    const tooMuch = own.reduce((sum, { amount }) => sum + BigInt(amount), -BigInt(own[0]?.orderAmount ?? 0));
    const isVisible = openRows.some((row) => own.some((claim) => isSameName(claim, row)));
    return tooMuch > 0n && !isVisible ? [`${id} has ${tooMuch} too much, and nobody knows`] : [];
  });
}

/** These rows say that the money is there. The others ask about it. */
const INVITING: readonly string[] = [
  'late',
  'surplus',
  'overpaid',
  'unknown-order',
  'amount-mismatch',
  'currency-mismatch',
];

function isSamePayment(
  fact: PaymentFact,
  { provider, reference, merchantAccount, transactionId }: LedgerEntry,
): boolean {
  return isSameName(fact, {
    ...{ provider, reference },
    ...{ merchantAccount: merchantAccount ?? '', transactionId: transactionId ?? '' },
  });
}

/** Several payments have one reference: the one that is named by its transaction is meant. */
function isNamedBetter(fact: PaymentFact, entry: LedgerEntry, ledger: readonly LedgerEntry[]): boolean {
  const names = [fact.transactionId, fact.reference];
  const isNamed = ({ transactionId }: LedgerEntry): boolean => transactionId !== null && names.includes(transactionId);
  return !isNamed(entry) && ledger.some((other) => isNamed(other) && isSamePayment(fact, other));
}

/** A payment may have two names. An account that is not known may be any. */
function isSameName(a: PaymentFact, b: PaymentFact): boolean {
  const isSameAccount = a.merchantAccount === '' || b.merchantAccount === '' || a.merchantAccount === b.merchantAccount;
  if (a.provider !== b.provider || !isSameAccount) return false;
  const names = [b.reference, b.transactionId].filter((name) => name !== '');
  return names.includes(a.reference) || (a.transactionId !== '' && names.includes(a.transactionId));
}

/**
 * Every column that may identify the buyer of an order, with the SQL that erases it. `n.pseudonym` replaces a reference.
 * Operators stay accountable for their actions. Other callers may be the buyer, and their texts may contain names.
 */
const PERSONAL_COLUMNS = {
  // The fingerprint is a hash of the request, so its content could be guessed.
  orders: { metadata: 'NULL', fingerprint: `'erased'` },
  order_history: {
    evidence: 'NULL',
    traceparent: 'NULL',
    actor: `CASE WHEN cause = 'operator' THEN actor END`,
    reason: `CASE WHEN cause IN ('api', 'command', 'operator') THEN NULL ELSE reason END`,
  },
  payment_attempt: { reference: 'n.pseudonym', transaction_id: 'NULL', evidence: 'NULL' },
  refund: {
    reference: 'n.pseudonym',
    evidence: 'NULL',
    number: `md5(n.pseudonym || CASE r.reason WHEN 'overpaid' THEN ' excess' ELSE '' END)`,
    refund_id: 'CASE WHEN r.refund_id IS NOT NULL THEN n.pseudonym END',
  },
  unmatched_payment: { reference: 'n.pseudonym', evidence: `'{}'`, resolution: 'NULL' },
} as const;

/** SQL: the assignments that erase the personal data of a row. */
export function erasing(table: keyof typeof PERSONAL_COLUMNS): string {
  const columns = Object.entries(PERSONAL_COLUMNS[table]);
  return columns.map(([column, value]) => `${column} = ${value}`).join(', ');
}

/** Where what providers and reports said is stored, and the SQL that names a row `e` of it. */
const EVIDENCE = [
  { of: 'history', table: 'order_history', name: 'e.version::text' },
  { of: 'attempt', table: 'payment_attempt', name: `e.provider || ' ' || e.reference` },
  { of: 'unmatched', table: 'unmatched_payment', name: `e.provider || ' ' || e.reference` },
  { of: 'refund', table: 'refund', name: `e.provider || ' ' || e.reference` },
] as const satisfies readonly { of: string; table: keyof typeof PERSONAL_COLUMNS; name: string }[];

/** What a row with evidence belongs to. */
export type EvidenceOf = (typeof EVIDENCE)[number]['of'];

/** SQL: what providers and reports said of an order, with what it is stored. @param orderId the SQL of its id */
export function evidenceSql(schema: string, orderId: string): string {
  const found = EVIDENCE.map(
    ({ of, table, name }) => `
        SELECT '${of}' AS of, ${name} AS name, e.evidence FROM ${schema}.${table} AS e
         WHERE e.order_id = ${orderId} AND e.evidence IS NOT NULL`,
  );
  return found.join(' UNION ALL');
}

/** The fields of views that hold personal data: what the shop noted on an order, and evidence. */
const PERSONAL_FIELDS = ['metadata', 'evidence'] as const;

export type WithoutPersonalData<T> = Omit<T, (typeof PERSONAL_FIELDS)[number]>;

/** A view, or views, without personal data at any depth. */
export function withoutPersonalData<T>(view: T): WithoutPersonalData<T> {
  return masked(view) as WithoutPersonalData<T>;
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const shown = Object.entries(value).filter(([name]) => !(PERSONAL_FIELDS as readonly string[]).includes(name));
  return Object.fromEntries(shown.map(([name, member]) => [name, masked(member)]));
}

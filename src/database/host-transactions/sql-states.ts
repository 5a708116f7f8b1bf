/** Where libraries keep the error of the driver, and Prisma keeps the SQLSTATE. */
const INNER = ['driverError', 'cause', 'meta', 'driverAdapterError'];
const MAX_DEPTH = 6;

interface Reported {
  /** SQLSTATEs. */
  readonly states: readonly string[];
  readonly texts: readonly string[];
}

/** What PostgreSQL reported, from the error of any library. */
export function reportedBy(error: unknown, depth = MAX_DEPTH): Reported {
  if (typeof error !== 'object' || error === null || depth === 0) return { states: [], texts: [] };
  const link = error as Readonly<Record<string, unknown>>;
  const inner = INNER.map((name) => reportedBy(link[name], depth - 1));
  return {
    states: [...textsOf(link.code, link.originalCode), ...inner.flatMap(({ states }) => states)],
    texts: [...textsOf(link.message, link.originalMessage), ...inner.flatMap(({ texts }) => texts)],
  };
}

function textsOf(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

const DAY_MS = 86_400_000;

/**
 * What the fields of orders, attempts, payments and stock may be. The only place: HTTP, AMQP, the module API, options and
 * environment take it from here, and a test holds it against the CHECKs of the tables.
 */
export const LIMITS = {
  /** Ids of orders and merchants. */
  id: /^[A-Za-z0-9_:.-]{1,64}$/,
  provider: /^[A-Za-z0-9_.-]{1,64}$/,
  currency: /^[A-Z]{3}$/,
  idempotencyKey: /^[\x20-\x7e]{1,255}$/,
  /** Characters, not bytes. */
  reference: 128,
  merchantAccount: 128,
  /** Stripe's ids may have so many. */
  transactionId: 255,
  sku: 128,
  reason: 500,
  /** JSON numbers carry money in events and over HTTP, so what they cannot carry exactly is not let in. */
  money: Number.MAX_SAFE_INTEGER,
  /** Pieces in one line. */
  quantity: 1_000_000,
  /** Pieces on hand: a 32-bit integer. */
  stock: 2 ** 31 - 1,
  /** The engine takes deadlines of at most ten years. */
  windowMs: 3_650 * DAY_MS,
  /** A 32-bit integer: 24.8 days. */
  graceMs: 2 ** 31 - 1,
  lines: 100,
  reminders: 10,
  watches: 10,
  /** Orders in one bulk request. */
  orders: 1_000,
  metadataBytes: 8_192,
  /** Deeper data is nobody's note on an order, and costs a stack frame per level wherever it is walked. */
  metadataDepth: 16,
  /** Four-digit years only; what lies outside is a slip in the unit or in the calendar. */
  earliest: new Date('2000-01-01T00:00:00Z'),
  latest: new Date('9999-12-31T23:59:59.999Z'),
} as const;

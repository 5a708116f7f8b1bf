const DAY_MS = 86_400_000;

/**
 * The limits for the fields of orders, attempts, payments, and stock. This is their only definition: HTTP, AMQP, the
 * module API, options, and environment use it, and a test compares it with the CHECK constraints of the tables.
 */
export const LIMITS = {
  /** Ids of orders and merchants. */
  id: /^[A-Za-z0-9_:.-]{1,64}$/,
  /** The same without "." and "..", which a URL resolves away. Without a look-ahead, which other languages lack. */
  newId: /^(?:[A-Za-z0-9_:-][A-Za-z0-9_:.-]{0,63}|\.[A-Za-z0-9_:-][A-Za-z0-9_:.-]{0,62}|\.\.[A-Za-z0-9_:.-]{1,62})$/,
  provider: /^[A-Za-z0-9_.-]{1,64}$/,
  currency: /^[A-Z]{3}$/,
  idempotencyKey: /^[\x20-\x7e]{1,255}$/,
  /** Characters, not bytes. */
  reference: 128,
  merchantAccount: 128,
  /** Stripe's ids may be this long. */
  transactionId: 255,
  sku: 128,
  reason: 500,
  /** Who acts, in the history. */
  actor: 128,
  /**
   * Events and HTTP carry money as JSON numbers, so amounts that JSON numbers cannot represent exactly are rejected.
   */
  money: Number.MAX_SAFE_INTEGER,
  /** Pieces per line. */
  quantity: 1_000_000,
  /** Pieces on hand: a 32-bit integer. */
  stock: 2 ** 31 - 1,
  /** The engine accepts deadlines of at most ten years. */
  windowMs: 3_650 * DAY_MS,
  /** A 32-bit integer: 24.8 days. */
  graceMs: 2 ** 31 - 1,
  lines: 100,
  reminders: 10,
  watches: 10,
  /** Orders per bulk request. */
  orders: 1_000,
  /** Orders per page of a list. */
  page: 200,
  metadataBytes: 8_192,
  /** Deeper data is not a sensible note on an order, and costs a stack frame per level in every traversal. */
  metadataDepth: 16,
  /** Four-digit years only. Other values are mistakes in the unit or the calendar. */
  earliest: new Date('2000-01-01T00:00:00Z'),
  latest: new Date('9999-12-31T23:59:59.999Z'),
} as const;

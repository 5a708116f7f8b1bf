import { randomUUID } from 'node:crypto';
import { refundNumber } from '../../src/orders/model/unmatched-money';
import { apiKeyEntry } from '../support/servers/service-environment';
import { API_KEYS, anOrder, type Call, type Method, openService, type RunningService } from './running-service';

/** In everything of B that A must not see. */
export const SECRET = 'b-secret';

interface Parked {
  readonly kind: string;
  readonly key: string;
}

/** A service with orders, stock and parked timeouts of merchants A and B. */
export interface World {
  readonly service: RunningService;
  /** A request with the key of merchant A, which has every scope. */
  readonly asA: (method: Method, path: string, body?: object) => Call;
  readonly keys: Readonly<Record<'a' | 'both', { readonly key: string; readonly entry: string }>>;
  readonly mine: {
    readonly order: string;
    readonly sku: string;
    readonly parked: readonly Parked[];
    readonly parkedKeys: readonly string[];
    readonly unmatched: string;
  };
  readonly theirs: {
    readonly id: string;
    /** An id of the same length that nothing has. */
    readonly ghost: string;
    readonly order: Readonly<Record<string, unknown>>;
    readonly sku: string;
    readonly sharedSku: string;
    /** Ids of unmatched payments: one of an order of theirs, one without an order, one of an order that is not there. */
    readonly unmatched: readonly string[];
    readonly parked: readonly Parked[];
  };
  /** Every row that belongs to B, shared stock and the host's own timeouts. */
  readonly theirRows: () => Promise<unknown[]>;
  /** Parks so many timeouts of each merchant, in turn. */
  readonly parkMany: (count: number) => Promise<void>;
}

function keyOf(name: string, scopes: string): { key: string; entry: string } {
  const key = `key-of-${name}`;
  return { key, entry: apiKeyEntry(name, key, scopes) };
}

const THEIR_ROWS = [
  `SELECT * FROM order_timeout.orders WHERE merchant_id = 'b' ORDER BY id`,
  `SELECT h.* FROM order_timeout.order_history h JOIN order_timeout.orders o ON o.id = h.order_id AND merchant_id = 'b' ORDER BY order_id, h.version`,
  `SELECT a.* FROM order_timeout.payment_attempt a JOIN order_timeout.orders o ON o.id = a.order_id AND merchant_id = 'b' ORDER BY reference`,
  `SELECT * FROM order_timeout.unmatched_payment ORDER BY id`,
  `SELECT * FROM order_timeout.inventory WHERE sku LIKE 'b-%' OR sku = 'shared' ORDER BY sku`,
  `SELECT * FROM order_timeout.reservation WHERE order_id LIKE 'b-%' ORDER BY order_id, sku`,
  `SELECT * FROM order_timeout.timeout WHERE key LIKE 'b-%' OR kind LIKE 'host.%' OR kind = 'payment.refund' ORDER BY kind, key`,
];

/** The timeouts that an order may have, all of them given up. */
function timeoutsOf(id: string): Parked[] {
  return [
    { kind: 'order.late-watch', key: id },
    { kind: 'order.payment', key: id },
    { kind: 'order.reminder', key: `${id}:60000` },
    { kind: 'payment.refund', key: refundNumber({ provider: 'p', reference: `${id}-refunded` }) },
  ];
}

export async function makeWorld(): Promise<World> {
  const keys = { a: keyOf('a', '*@a'), both: keyOf('both', 'orders:read+orders:write+inventory:write+admin@a+b') };
  const service = await openService({ API_KEYS: `${API_KEYS},${keys.a.entry},${keys.both.entry}` });
  const query = (sql: string, parameters: unknown[] = []): Promise<unknown> =>
    service.database.dataSource.query(sql, parameters);
  const asA: World['asA'] = (method, path, body) => service.call(method, path, body, keys.a.key);

  const sku = 'b-sku';
  await asA('put', '/inventory/a-sku', { onHand: 5 }).expect(200);
  await service.call('put', `/inventory/${sku}`, { onHand: 4_711, merchantId: 'b' }, keys.both.key).expect(200);
  await service.call('put', '/inventory/shared', { onHand: 100 }).expect(200);

  const place = async (merchantId: string, goods: string) => {
    // Its colon is one of the id, not that of a reminder's key.
    const id = `${merchantId}-order:1`;
    const lines = [{ sku: goods, quantity: 1, unitAmount: 1 }];
    const order = anOrder({
      id,
      merchantId,
      lines,
      metadata: { note: SECRET },
      attempt: { provider: 'p', reference: id },
    });
    await service.call('post', '/orders', order).expect(201);
    return order;
  };
  const order = await place('b', sku);
  const own = await place('a', 'a-sku');
  for (const { id } of [order, own]) await park(query, id);
  await query(
    `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state)
     VALUES ('host.kind', 'a', 1, now(), now(), 'parked'), ('host.kind', $1, 1, now(), now(), 'parked')`,
    [own.id],
  );
  const theirs = { id: order.id, ghost: 'g-order:1', order, sku, sharedSku: 'shared', parked: timeoutsOf(order.id) };
  const parked = timeoutsOf(own.id);
  return {
    service,
    asA,
    keys,
    mine: {
      order: own.id,
      sku: 'a-new',
      parked,
      parkedKeys: parked.map(({ key }) => key),
      unmatched: await keepUnmatched(query, own.id),
    },
    theirs: {
      ...theirs,
      unmatched: [
        await keepUnmatched(query, order.id),
        await keepUnmatched(query, null),
        await keepUnmatched(query, 'never-placed'),
      ],
      parked: [...theirs.parked, { kind: 'host.kind', key: 'a' }, { kind: 'host.kind', key: own.id }],
    },
    theirRows: () => Promise.all(THEIR_ROWS.map((sql) => query(sql))),
    parkMany: (count) => parkMany(service, count),
  };
}

/** Keeps a payment that names this order, and that no order takes. Its id. */
async function keepUnmatched(
  query: (sql: string, parameters: unknown[]) => Promise<unknown>,
  orderId: string | null,
): Promise<string> {
  const id = randomUUID();
  await query(
    `INSERT INTO order_timeout.unmatched_payment (id, provider, reference, order_id, amount, currency, source, evidence, reason, handling)
     VALUES ($1, 'p', $2, $3, 1, 'EUR', 'provider', '{}', 'attempt-mismatch', 'kept')`,
    [id, `unmatched-${orderId}`, orderId],
  );
  return id;
}

/** Gives the order a refund, and gives up everything that waits for it. */
async function park(query: (sql: string, parameters: unknown[]) => Promise<unknown>, id: string): Promise<void> {
  const reference = `${id}-refunded`;
  await query(
    `INSERT INTO order_timeout.payment_attempt (provider, reference, order_id, status, amount, currency)
     VALUES ('p', $2, $1, 'REFUNDING', 1, 'EUR')`,
    [id, reference],
  );
  await query(
    `INSERT INTO order_timeout.refund (number, provider, reference, order_id, amount, currency, reason)
     VALUES ($2, 'p', $3, $1, 1, 'EUR', 'surplus')`,
    [id, refundNumber({ provider: 'p', reference }), reference],
  );
  for (const { kind, key } of timeoutsOf(id)) {
    await query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, last_error)
       VALUES ($1, $2, 1, now(), now(), 'parked', $3) ON CONFLICT (kind, key) DO UPDATE SET state = 'parked'`,
      [kind, key, SECRET],
    );
  }
}

async function parkMany(service: RunningService, count: number): Promise<void> {
  const orders = Array.from({ length: count * 2 }, (_, index) => {
    const merchantId = index % 2 === 0 ? 'a' : 'b';
    return anOrder({ id: `many-${merchantId}-${index}`, merchantId, lines: [], reminderOffsetsMs: [] });
  });
  await service.call('post', '/orders/bulk', { orders }).expect(200);
  await service.database.dataSource.query(`UPDATE order_timeout.timeout SET state = 'parked' WHERE key LIKE 'many-%'`);
}

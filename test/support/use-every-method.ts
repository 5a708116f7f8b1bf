import { types } from 'node:util';
import { type Transaction } from '../../src/public/transactions';
import { uuidv7 } from 'uuidv7';
import { type HostShop, REMINDER } from './host-shop';

/** Calls every method that takes a transaction, in this one. Returns their answers without what differs between two runs. */
export async function useEveryMethod(shop: HostShop, tx: Transaction): Promise<unknown> {
  const answers = [
    await payInTime(shop, tx),
    await payLate(shop, tx),
    await cancelAndErase(shop, tx),
    await refuse(shop, tx),
    await handleUnmatched(shop, tx),
    await useStock(shop, tx),
    await schedule(shop, tx),
  ];
  const names = new Map<string, string>();
  return comparable(answers, names);
}

const money = { amount: 1_999, currency: 'EUR' };

async function payInTime({ orders, newOrder }: HostShop, tx: Transaction): Promise<unknown[]> {
  const order = newOrder({ metadata: { gift: true }, idempotencyKey: uuidv7() });
  const attempt = { orderId: order.id, provider: 'bank', reference: `in-time-${order.id}` };
  return [
    await orders.place(order, { tx }),
    await orders.place(order, { tx }),
    await orders.registerAttempt({ ...attempt, timeExpire: new Date('2100-01-01T00:00:00Z') }, { tx }),
    await orders.extendDeadline({ orderId: order.id, byMs: 60_000 }, { tx }),
    await orders.setAutoClose({ orderId: order.id, enabled: false }, { tx }),
    await orders.markPaid({ ...attempt, ...money, paidAt: new Date('2026-01-01T00:00:00Z') }, { tx }),
    await orders.markPaid({ ...attempt, ...money, reference: `second-${order.id}` }, { tx }),
  ];
}

async function payLate({ orders, newOrder }: HostShop, tx: Transaction): Promise<unknown[]> {
  const order = newOrder();
  const payment = { orderId: order.id, provider: 'bank', reference: `late-${order.id}`, ...money };
  return [
    await orders.placeMany([order], { tx }),
    await orders.close({ orderId: order.id, reason: 'sold out' }, { tx }),
    await orders.markPaid(payment, { tx }),
    await orders.revive({ orderId: order.id, reason: 'found another' }, { tx }),
  ];
}

async function cancelAndErase({ orders, newOrder }: HostShop, tx: Transaction): Promise<unknown[]> {
  const { id: orderId, ...order } = newOrder();
  return [
    await orders.place({ id: orderId, ...order }, { tx }),
    await orders.cancel({ orderId }, { tx }),
    await orders.erasePersonalData({ orderId, reason: 'asked for it' }, { tx }),
  ];
}

async function refuse({ orders, inventory, newOrder }: HostShop, tx: Transaction): Promise<unknown[]> {
  const lines = [{ sku: 'lemon', quantity: 2, unitAmount: 1 }];
  return [
    await inventory.setStock(tx, 'lemon', 1),
    await orders.place(newOrder({ lines }), { tx }),
    await orders.place(newOrder({ lines: [{ sku: 'pear', quantity: 1, unitAmount: 1 }] }), { tx }),
    await orders.cancel({ orderId: 'nobody' }, { tx }),
  ];
}

async function handleUnmatched({ orders, newOrder }: HostShop, tx: Transaction): Promise<unknown[]> {
  const { id: orderId } = newOrder();
  const payment = { orderId, provider: 'bank', reference: `unmatched-${orderId}`, ...money };
  const booked = await orders.markPaid(payment, { tx });
  return [booked, await orders.unmatched.settle({ id: uuidv7(), reason: 'no such payment' }, { tx })];
}

async function useStock({ inventory, outbox }: HostShop, tx: Transaction): Promise<unknown[]> {
  const sku = `sku-${uuidv7()}`;
  await outbox.append(tx, [{ id: uuidv7(), route: 'event', routingKey: 'basket.filled', body: { sku } }]);
  return [
    await inventory.setStock(tx, sku, 5),
    await inventory.setStock(tx, sku, 7, { expected: 4 }),
    await inventory.addStock(tx, sku, 2),
    await inventory.read(tx, [sku]),
    await inventory.audit(tx),
  ];
}

async function schedule({ scheduler }: HostShop, tx: Transaction): Promise<unknown[]> {
  const refs = [uuidv7(), uuidv7()].map((key) => ({ kind: REMINDER, key }));
  const requests = refs.map((ref) => ({ ...ref, afterMs: 3_600_000, payload: { a: 1 } }));
  return [await scheduler.schedule(requests, { tx }), await scheduler.cancel(refs, { tx })];
}

const ID = /hosted-\d+|[0-9a-f]{8}-[0-9a-f-]{27}|\b\d+\b/g;

/** Each id becomes its place in the order of appearance, and each instant becomes the word for one. */
function comparable(value: unknown, names: Map<string, string>): unknown {
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? 'invalid instant' : 'instant';
  if (typeof value === 'string') return value.replace(ID, (id) => nameOf(id, names));
  if (Array.isArray(value)) return value.map((one) => comparable(one, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, comparable(one, names)]));
}

function nameOf(id: string, names: Map<string, string>): string {
  const known = names.get(id) ?? `id ${names.size + 1}`;
  names.set(id, known);
  return known;
}

import { type LockedOrder, isSameRow, canTransition } from '../../src/orders/model/order';
import { type Violation } from './check-end';
import { type Shop } from './shop';
import { paymentOf, unitOf } from './truth';

/** What an order's history, its refunds and its deadline must agree on. */
export function checkHistory(shop: Shop, order: LockedOrder): Violation[] {
  return [
    ...checkVersions(shop, order),
    ...checkRefunds(shop, order),
    ...checkEarly(shop, order),
    ...checkInTime(shop, order),
  ];
}

function checkVersions({ world: { store } }: Shop, order: LockedOrder): Violation[] {
  const rows = store.history.get(order.id) ?? [];
  const steps = rows.filter(({ from, to }) => from !== to);
  const path = ['PENDING', ...steps.map(({ to }) => to)];
  const isGapless = rows.every(({ version }, index) => version === index + 2) && order.version === rows.length + 1;
  const isLegal = steps.every(({ from, to }, index) => from === path[index] && canTransition(from, to));
  const isOnce = ['CLOSED', 'CANCELLED', 'PAID'].every((end) => path.filter((status) => status === end).length <= 1);
  if (isGapless && isLegal && isOnce && path.at(-1) === order.status) return [];
  return [{ type: 'history', text: `${order.id}: ${path.join(' -> ')}` }];
}

function checkRefunds(shop: Shop, order: LockedOrder): Violation[] {
  const refunds = [...shop.world.store.refunds.values()].filter(({ orderId }) => orderId === order.id);
  return refunds.flatMap((refund): Violation[] => {
    const { reference, status } = refund;
    const number = refund.number.replace('erased ', '');
    const payment = paymentOf(shop, refund);
    const attempt = order.attempts.find((one) => isSameRow(one, refund));
    const unit = unitOf(shop, attempt ?? { ...refund, transactionId: null });
    const others = [...(payment?.refunds ?? [])].filter(([other, made]) => other !== number && made.unit === unit);
    if (others.length > 0) return [{ type: 'refund', text: `${reference} was refunded twice` }];
    // What an erased order has stays as it was, and a row shows what is heard.
    const isUnknown = unit?.hasComeBack === true && (!unit.isHeard || order.isErased === true);
    if (refund.isPaidBack || isUnknown) return [];
    const isBack = payment?.refunds.has(number) === true;
    if (isBack === (status === 'REFUNDED')) return [];
    return [
      {
        type: 'refund',
        text: `the refund of ${reference} is ${status}, at the provider ${isBack ? 'done' : 'not done'}`,
      },
    ];
  });
}

function checkEarly({ world: { store } }: Shop, { id }: LockedOrder): Violation[] {
  const [begin] = (store.history.get(id) ?? []).filter(({ from, to }) => from === 'PENDING' && to !== 'PENDING');
  if (!begin || begin.to === 'PAID' || begin.atMs >= begin.closesAtMs) return [];
  // An operator may close at any time.
  if (begin.closingReason === 'cancelled' || begin.cause === 'operator') return [];
  return [{ type: 'early', text: `${id} became ${begin.to} ${begin.closesAtMs - begin.atMs} ms before its deadline` }];
}

/** Whoever paid enough before anybody began to close gets the goods, unless the order was called off. */
function checkInTime(shop: Shop, order: LockedOrder): Violation[] {
  const rows = shop.world.store.history.get(order.id) ?? [];
  const begin = rows.find(({ from, to }) => from === 'PENDING' && to !== 'PENDING');
  if (order.status === 'PAID' || !begin || rows.some(({ closingReason }) => closingReason === 'cancelled')) return [];
  return order.attempts.flatMap((attempt): Violation[] => {
    const { reference } = attempt;
    const taken = unitOf(shop, attempt);
    const isEnough = taken && taken.currency === order.currency && taken.amount >= order.amount;
    const payment = paymentOf(shop, attempt);
    // A person has decided about it.
    if (payment && (shop.isAssigned(payment, order.id) || payment.units.some(({ paidBack }) => paidBack > 0n)))
      return [];
    // What was settled before the provider confirmed it is not money of its order until a person says so; a row asks for that.
    if (order.attempts.some((one) => one.status === 'SETTLED' && unitOf(shop, one) === taken)) return [];
    // What nobody had registered could not be asked about.
    if (!attempt.registered || !isEnough || taken.atMs >= begin.atMs) return [];
    return [{ type: 'unjust', text: `${reference} was paid in time, and ${order.id} is ${order.status}` }];
  });
}

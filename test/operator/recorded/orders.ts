import { type OrderStatus, type OrderSummary } from '../../../packages/operator-page/src/api/contract';
import { type OrderDetails } from '../../../packages/operator-page/src/api/order-contract';
import { at } from './overview';

const MERCHANTS = ['shop-berlin', 'shop-lyon', 'shop-osaka', 'shop-shenzhen'];
const CURRENCIES = ['EUR', 'EUR', 'JPY', 'CNY'];
const STATUSES: OrderStatus[] = ['PENDING', 'PENDING', 'PENDING', 'PAID', 'CLOSING', 'PENDING', 'CLOSED', 'CANCELLED'];
const PAGE = 24;

export const orders: OrderSummary[] = Array.from({ length: PAGE }, (_, index) => {
  const status = STATUSES[index % STATUSES.length] ?? 'PENDING';
  const isOpen = status === 'PENDING' || status === 'CLOSING';
  const expiresAt = at(isOpen ? 90 + index * 70 : -600 - index * 45);
  return {
    id: `o-2030-03-01-${String(70_412 - index * 7)}`,
    merchantId: MERCHANTS[index % MERCHANTS.length] ?? '',
    status,
    amount: 1990 + ((index * 7_919) % 48_000),
    currency: CURRENCIES[index % CURRENCIES.length] ?? 'EUR',
    expiresAt,
    expired: !isOpen,
    createdAt: at(-40 - index * 53),
    payable: status === 'PENDING',
  };
});

export const order: OrderDetails = {
  id: 'o-2030-03-01-70412',
  merchantId: 'shop-berlin',
  status: 'PENDING',
  version: 3,
  amount: 4990,
  currency: 'EUR',
  expiresAt: at(754),
  expired: false,
  payable: true,
  autoClose: true,
  lines: [
    { sku: 'kettle-1l-steel', quantity: 1, unitAmount: 3990 },
    { sku: 'tea-assam-100g', quantity: 2, unitAmount: 500 },
  ],
  attempts: [
    {
      provider: 'stripe',
      reference: 'pi_3QxK2LFz81',
      status: 'UNKNOWN',
      amount: 4990,
      currency: 'EUR',
      createdAt: at(-940),
    },
    {
      provider: 'alipay',
      reference: '2030030122001476',
      status: 'PAID',
      amount: 4990,
      currency: 'EUR',
      paidAmount: 4990,
      createdAt: at(-300),
      paidAt: at(-240),
    },
  ],
  createdAt: at(-1046),
  stock: [
    { sku: 'kettle-1l-steel', quantity: 1, state: 'RESERVED' },
    { sku: 'tea-assam-100g', quantity: 2, state: 'RESERVED' },
  ],
  timeouts: [
    { kind: 'order.payment', state: 'pending', dueAt: at(754), attempts: 0, lastError: null },
    { kind: 'order.reminder', state: 'parked', dueAt: at(-60), attempts: 12, lastError: 'mail server refused' },
  ],
  unmatched: [],
  personal: 'hidden',
  timeline: [
    {
      ...{ at: at(-1046), what: 'history', title: 'placed as PENDING', cause: 'api', actor: 'checkout' },
      details: { version: 1, from: null, to: 'PENDING', reason: null, trace: '4bf92f3577b34da6a3ce929d0e0e4736' },
    },
    {
      ...{ at: at(-940), what: 'attempt', title: 'payment attempt at stripe', cause: null, actor: null },
      details: { provider: 'stripe', reference: 'pi_3QxK2LFz81', amount: 4990, currency: 'EUR', status: 'UNKNOWN' },
    },
    {
      ...{ at: at(-420), what: 'look-up', title: 'stripe says UNKNOWN', cause: null, actor: null },
      details: { provider: 'stripe', reference: 'pi_3QxK2LFz81', amount: 4990, currency: 'EUR', status: 'UNKNOWN' },
    },
    {
      ...{ at: at(-400), what: 'history', title: 'Stripe was away', cause: 'operator', actor: 'lena' },
      details: { version: 2, from: 'PENDING', to: 'PENDING', reason: 'Stripe was away', trace: null },
    },
    {
      ...{ at: at(-300), what: 'attempt', title: 'payment attempt at alipay', cause: null, actor: null },
      details: { provider: 'alipay', reference: '2030030122001476', amount: 4990, currency: 'EUR', status: 'PAID' },
    },
    {
      ...{ at: at(-240), what: 'look-up', title: 'alipay says PAID', cause: 'notify', actor: null },
      details: { provider: 'alipay', reference: '2030030122001476', amount: 4990, currency: 'EUR', status: 'PAID' },
    },
    {
      ...{ at: at(-2), what: 'event', title: 'order.reminder waits in the outbox', cause: null, actor: null },
      details: { type: 'order.reminder', parked: false, reason: null },
    },
  ],
};

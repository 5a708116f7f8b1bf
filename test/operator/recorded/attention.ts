import {
  type ParkedGroup,
  type ParkedMessage,
  type ParkedOutboxRow,
  type ParkedTimeout,
  type Refund,
} from '../../../packages/operator-page/src/api/attention-contract';
import { type UnmatchedPayment } from '../../../packages/operator-page/src/api/order-contract';
import { at } from './overview';

export const groups: ParkedGroup[] = [
  {
    kind: 'payment.refund',
    reason: 'the provider "…" answers # (insufficient balance)',
    count: 5,
    oldestAt: at(-86_400),
  },
  { kind: 'order.payment', reason: '', count: 2, oldestAt: at(-7_200) },
];

export const parkedTimeouts: ParkedTimeout[] = [
  ...[0, 1].map((index) => ({
    kind: 'order.payment',
    key: `o-2030-03-01-${60_311 + index}`,
    dueAt: at(-7_200 + index * 60),
    attempts: 12,
    lastError: null,
  })),
  ...[0, 1, 2, 3, 4].map((index) => ({
    kind: 'payment.refund',
    key: `8f14e45fceea167a5a36dedd4bea254${index}`,
    dueAt: at(-86_400 + index * 900),
    attempts: 12,
    lastError: 'the provider "alipay" answers 402 (insufficient balance)',
  })),
];

const payment = {
  merchantAccount: null,
  source: 'notification',
  resolvedAt: null,
  resolvedBy: null,
  resolution: null,
} as const;

export const unmatched: UnmatchedPayment[] = [
  {
    ...payment,
    id: '184',
    reason: 'late',
    handling: 'kept',
    orderId: 'o-2030-03-01-58002',
    provider: 'alipay',
    reference: '2030030122009981',
    amount: 12_900,
    currency: 'CNY',
    createdAt: at(-5_400),
  },
  {
    ...payment,
    id: '185',
    reason: 'unknown-order',
    handling: 'kept',
    orderId: null,
    provider: 'stripe',
    reference: 'pi_3QxK9AAb22',
    amount: 2_500,
    currency: 'EUR',
    createdAt: at(-3_100),
  },
  {
    ...payment,
    id: '186',
    reason: 'amount-mismatch',
    handling: 'waiting',
    orderId: 'o-2030-03-01-70299',
    provider: 'wechat-pay',
    reference: '4200002301203003',
    amount: 980,
    currency: 'JPY',
    createdAt: at(-410),
  },
];

export const refunds: Refund[] = [0, 1, 2, 3, 4].map((index) => ({
  number: `8f14e45fceea167a5a36dedd4bea254${index}`,
  orderId: `o-2030-02-28-${41_200 + index}`,
  provider: 'alipay',
  reference: `20300228220014${70 + index}`,
  amount: 5_900 + index * 400,
  currency: 'CNY',
  reason: index === 2 ? 'operator' : 'late',
  requestedBy: index === 2 ? 'lena' : null,
  createdAt: at(-86_400 + index * 900),
  timeout: {
    kind: 'payment.refund',
    key: `8f14e45fceea167a5a36dedd4bea254${index}`,
    dueAt: at(-86_400 + index * 900),
    attempts: 12,
    lastError: 'the provider "alipay" answers 402 (insufficient balance)',
  },
}));

export const parkedMessages: ParkedMessage[] = [
  {
    id: '0195513a-7f20-7cc1-9a51-8e1d64d0a1f2',
    routingKey: 'order.place',
    code: 'VALIDATION_FAILED',
    reason: 'lines.0.quantity must be at least 1',
  },
  { id: '', routingKey: 'order.cancel', code: 'INVALID_JSON', reason: 'the body is not JSON' },
];

export const outboxRows: ParkedOutboxRow[] = [
  {
    id: '01955139-02c4-7d11-b0aa-52f0a8f0d9c1',
    route: 'event',
    routingKey: 'order.closed',
    reason: 'the broker does not route it: 312 NO_ROUTE',
    createdAt: at(-9_000),
    bytes: 812,
  },
];

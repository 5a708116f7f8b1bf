import { type Overview, type Session } from '../../../packages/operator-page/src/api/contract';

/** The moment in which everything was recorded. */
export const NOW = '2030-03-01T12:00:00.000Z';

const at = (offsetSeconds: number): string => new Date(Date.parse(NOW) + offsetSeconds * 1_000).toISOString();
export { at };

export const session: Session = {
  name: 'lena',
  roles: ['read', 'operate', 'money', 'reveal'],
  merchants: null,
  csrf: 'f3c1a0b59d',
  expiresAt: at(12 * 3600),
  version: '0.2.0',
};

/** A lunch-time wave: sales begin at noon, and orders have 30 minutes to be paid. */
const DUE = [
  ...[14, 11, 17, 9, 12, 8, 15, 13, 10, 7, 16, 12, 9, 11, 14, 18, 13, 10, 12, 15],
  ...[21, 26, 33, 41, 52, 64, 71, 83, 96, 88, 74, 61, 49, 38, 30, 22, 17, 12, 9, 6],
  ...[4, 3, 5, 2, 4, 3, 1, 2, 0, 1, 3, 2, 0, 1, 0, 2, 1, 0, 0, 1],
];

const running = { paused: false, pause: null } as const;

export const overview: Overview = {
  now: NOW,
  orders: { pending: 1264, closing: 7, paid24h: 8312, closed24h: 941, partial: false },
  due: { nextMinute: 14, nextHour: DUE, overdue: 3 },
  lateness: [
    { clock: 'message', p50Ms: 34, p99Ms: 212, count: 941 },
    { clock: 'sweep', p50Ms: 3120, p99Ms: 4870, count: 6 },
    { clock: 'access', p50Ms: 410, p99Ms: 2230, count: 19 },
  ],
  transport: { name: 'ladder', why: 'the broker has no delayed exchange', since: at(-5 * 3600) },
  broker: { state: 'up', messagePath: 'up', cause: null },
  database: { state: 'up' },
  outbox: { waiting: 12, oldestSeconds: 1, parked: 1 },
  providers: [
    { name: 'alipay', breaker: 'closed', ...running, limitPerSecond: 50, configuredPerSecond: 100 },
    { name: 'stripe', breaker: 'half-open', ...running, limitPerSecond: null, configuredPerSecond: 100 },
    {
      ...{ name: 'wechat-pay', breaker: 'open', paused: true, limitPerSecond: 20, configuredPerSecond: 100 },
      pause: { by: 'lena', reason: 'certificate has expired', at: at(-1_500) },
    },
  ],
  kinds: [
    { kind: 'order.late-watch', parked: 0, ...running, overdueOldestSeconds: null },
    { kind: 'order.payment', parked: 2, ...running, overdueOldestSeconds: 4 },
    {
      ...{ kind: 'order.reminder', parked: 0, paused: true, overdueOldestSeconds: 95 },
      pause: { by: 'omar', reason: 'the mail server is moved', at: at(-100) },
    },
    { kind: 'payment.reconciliation', parked: 0, ...running, overdueOldestSeconds: null },
    { kind: 'payment.refund', parked: 5, ...running, overdueOldestSeconds: null },
    { kind: 'voucher.expiry', parked: 0, ...running, overdueOldestSeconds: null },
  ],
  attention: { parkedTimeouts: 7, unmatchedPayments: 3, refundsFailed: 5, parkedMessages: 2 },
};

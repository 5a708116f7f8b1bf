import { type HistoryFact } from '../../../test/support/checks/facts';
import { type Facts, type OrderFact, TERMINAL } from './facts';
import { type Invariant } from './invariant';
import { unexplained } from './outage';

/** The message path is up: a sweep alone would need longer. */
const NORMAL_LIMIT_MS = 5_000;
/** The service or the provider was unavailable for a while. */
const TROUBLE_LIMIT_MS = 40_000;

/** Orders, one by one: placed, never early, in time, and rightly. */
export const ORDER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'all-placed',
    says: 'every order that was placed is there, and every request was answered',
    violations: (facts) => [
      ...unexplained(facts.refusals, facts).map(({ orderId, says }) => `${orderId}: ${says}`),
      ...of(facts.orders, ({ stored }) => (stored ? undefined : 'is not in the database')),
    ],
  },
  {
    name: 'never-early',
    says: '0 orders closed before their deadline',
    violations: ({ orders }) => of(orders, earliness),
  },
  {
    name: 'in-time',
    says: '0 unpaid orders open 5 s after their deadline (40 s where the service was killed or the provider failed)',
    violations: (facts) => of(facts.orders, (order) => tardiness(order, facts)),
  },
  {
    name: 'paid-stays-paid',
    says: '0 orders closed or cancelled although the provider has the money (every order compared with its ledger)',
    violations: ({ orders }) =>
      of(orders, ({ ledger, stored }) =>
        ledger?.status === 'PAID' && stored?.status !== 'PAID'
          ? `is ${stored?.status ?? 'missing'}, and paid at the provider`
          : undefined,
      ),
  },
  {
    name: 'unpaid-not-paid',
    says: 'without money at the provider an order is CLOSED, or CANCELLED by its buyer',
    violations: ({ orders, wasKilled }) => of(orders, (order) => wrongEnd(order, wasKilled)),
  },
  {
    name: 'late-payers-refused',
    says: 'a buyer who pays after the deadline is refused by the provider, or the order is PAID',
    violations: ({ orders }) => of(orders, paidTooLate),
  },
];

function of(orders: readonly OrderFact[], judge: (order: OrderFact) => string | undefined): string[] {
  return orders.flatMap((order) => {
    const problem = judge(order);
    return problem === undefined ? [] : [`${order.plan.id} ${problem}`];
  });
}

const isClosing = ({ to, cause }: HistoryFact): boolean =>
  (to === 'CLOSING' || to === 'CLOSED') && !['api', 'command'].includes(cause);

function earliness({ stored, history }: OrderFact): string | undefined {
  if (!stored) return undefined;
  const dueAt = stored.expiresAt + stored.graceMs;
  const early = history.find((entry) => isClosing(entry) && entry.occurredAt < dueAt);
  return early && `became ${early.to} ${dueAt - early.occurredAt} ms early`;
}

function tardiness(
  { plan, stored, history, ledger }: OrderFact,
  { wasKilled, slowness }: Pick<Facts, 'wasKilled' | 'slowness'>,
): string | undefined {
  if (!stored || ledger?.status === 'PAID') return undefined;
  const hasTrouble = wasKilled || (plan.payment?.faults.length ?? 0) > 0;
  const limitMs = (hasTrouble ? TROUBLE_LIMIT_MS : NORMAL_LIMIT_MS) * slowness;
  if (!TERMINAL.includes(stored.status)) return `is still ${stored.status}`;
  const end = history.find(({ to }) => TERMINAL.includes(to));
  const lateMs = end ? end.occurredAt - stored.expiresAt - stored.graceMs : 0;
  return lateMs > limitMs ? `was open ${lateMs} ms after its deadline (limit ${limitMs} ms)` : undefined;
}

function wrongEnd({ plan, stored, ledger }: OrderFact, wasKilled: boolean): string | undefined {
  if (!stored || ledger?.status === 'PAID') return undefined;
  const expected = plan.action?.type === 'cancel' ? 'CANCELLED' : 'CLOSED';
  // The deadline may have passed before the dead service heard of the cancellation.
  if (wasKilled && stored.status === 'CLOSED') return undefined;
  return stored.status === expected ? undefined : `is ${stored.status}, not ${expected}`;
}

function paidTooLate({ plan, stored, ledger }: OrderFact): string | undefined {
  if (ledger?.isClosed && ledger.status === 'PAID') return 'was paid after it was closed at the provider';
  if (plan.group !== 'pays-too-late') return undefined;
  if (ledger?.status === 'PAID') {
    // While the service is dead, or the breaker waits for a failing provider, nobody closes there: the money counts.
    return stored?.status === 'PAID' ? undefined : 'was paid 2 s after the deadline, and its order is not PAID';
  }
  return ledger && ledger.refusedPays > 0 ? undefined : 'had a late buyer who was not refused';
}

import { patch, type Weakness } from './weakness';

const LOOKUPS = 'orders/lookup/payment-lookups.ts';
const PLAN = 'orders/model/plan-closing.ts';

/** Of how orders end, and of what happens to their goods. */
export const CLOSING_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'believes-errors',
    says: 'A look-up without a clear response closes the attempt',
    patches: [
      patch(
        LOOKUPS,
        'return unknownFinding(answer);\n    default:',
        "return closed('UNKNOWN', undefined);\n    default:",
      ),
    ],
  },
  {
    name: 'ends-unasked-look-ups',
    says: 'A process that does not have the provider ends the look-up of a notified payment',
    patches: [
      patch(
        'orders/model/findings.ts',
        "const isUnasked = finding.type === 'NO_PROVIDER' && attempt !== undefined && hasRegistered(attempt);",
        'const isUnasked = false;',
      ),
    ],
  },
  {
    name: 'closes-here-only',
    says: 'Open attempts are closed in the database only',
    patches: [
      patch(
        LOOKUPS,
        "if (!facts.close) return { type: 'close' };",
        "if (!facts.close) return conclude(closed('OPEN', undefined));",
      ),
    ],
  },
  {
    name: 'ignores-close',
    says: 'The response to a close is ignored',
    patches: [
      patch(
        LOOKUPS,
        'return afterClose(attempt, facts.close, now);',
        'return conclude(closed(facts.close.type, undefined));',
      ),
    ],
  },
  {
    name: 'believes-not-found',
    says: 'An attempt that the provider does not know counts as closed, without a time limit',
    patches: [
      patch(
        LOOKUPS,
        "if (!attempt.timeExpire) return { type: 'NOT_FOUND_YET', finalAt: null };",
        "if (!attempt.timeExpire) return closed('NOT_FOUND', evidence);",
      ),
    ],
  },
  {
    name: 'closes-without-look-up',
    says: 'Orders with open attempts are closed without a look-up',
    patches: [
      patch(PLAN, "if (hasOpenAttempts) return { type: 'look-up', entersClosing: order.status === 'PENDING' };", ''),
      patch('orders/sql/order-store.ts', "${effect === 'release' ? moneyRule : ''}", ''),
    ],
  },
  {
    name: 'registers-at-any-time',
    says: 'Attempts are registered after closing has begun',
    patches: [patch('orders/pay/register-attempt.ts', 'if (!isPayable(order, now)) {', 'if (order.version < 0) {')],
  },
  {
    name: 'leaves-attempts-open',
    says: 'The other attempts of an order that is paid stay open',
    patches: [
      patch(
        'orders/pay/mark-paid.ts',
        'const stillOpen = after.attempts.some(canTakeMoney);',
        'const stillOpen = false;',
      ),
    ],
  },
  {
    name: 'reads-snapshots',
    says: 'Transactions read as at REPEATABLE READ',
    patches: [
      // Not those of migrations, whose snapshots CREATE INDEX CONCURRENTLY would wait for.
      patch(
        'database/transaction.ts',
        'await runner.startTransaction(LEVEL);',
        "await runner.startTransaction(limits.idleMs === 0 ? LEVEL : 'REPEATABLE READ');",
      ),
      patch('orders/sql/lock-orders.ts', 'if (!SEES_COMMITTED.has(read.isolation))', 'if (read.isolation === null)'),
    ],
  },
  {
    name: 'closes-early',
    says: 'A message of an earlier deadline is believed, and the time of the order is not compared',
    patches: [
      patch(
        'timeouts/model/timeout.ts',
        'const wanted = anyGeneration.has(key) ? null : generation;',
        'const wanted = null;',
      ),
      patch(
        'timeouts/engine/batches.ts',
        '!row.busy && (row.remaining_ms <= 0 || isAbandoned(row))',
        '!row.busy && (!row.leased || isAbandoned(row))',
      ),
      patch(PLAN, 'if (now < dueAt) return', 'if (now.getTime() < 0) return'),
    ],
  },
  {
    name: 'drops-locked-orders',
    says: 'The timeout of an order that another transaction has locked counts as done',
    patches: [
      patch(
        'orders/close/close-unpaid-orders.ts',
        'if (!order) return { due, outcome: batch.busy.has(due.key) ? busyOutcome(due, batch.now) : DONE };',
        'if (!order) return { due, outcome: DONE };',
      ),
    ],
  },
  {
    name: 'parks-cancellations',
    says: 'Partial payments of canceled orders wait for a person, as for other orders',
    patches: [
      patch(
        PLAN,
        "return partial === 'refund-and-close' || (partial === 'park' && closingReason === 'cancelled');",
        "return partial === 'refund-and-close' && closingReason !== undefined;",
      ),
    ],
  },
  {
    name: 'waits-for-deadlines',
    says: 'Money from before its order waits for the deadline, even without one',
    patches: [
      patch(
        'orders/model/order-timeouts.ts',
        'if (!hasMoney && autoClose) return [];',
        'if (id !== undefined) return [];',
      ),
    ],
  },
  {
    name: 'counts-from-due',
    says: 'Waiting counts from the due time, so unclear results count after a pause',
    patches: [patch('orders/model/findings.ts', '(askedSince ?? dueAt).getTime()', 'dueAt.getTime()')],
  },
  {
    name: 'revives-without-goods',
    says: 'Late money revives an order whose goods are sold',
    patches: [
      patch(
        'orders/unmatched/handle-unmatched.ts',
        'if (!(await this.store.inventory.reserveAgain(tx, order.id))) return false;',
        'await this.store.inventory.reserveAgain(tx, order.id);',
      ),
    ],
  },
  {
    name: 'releases-ungrouped',
    says: 'Stock is changed by UPDATE … FROM without adding up the pieces of a SKU first',
    patches: [
      patch(
        'inventory/inventory-queries.ts',
        'SELECT sku, sum(qty)::int AS quantity, sum(sold)::int AS sold FROM ended GROUP BY sku)',
        'SELECT sku, qty AS quantity, sold FROM ended)',
      ),
    ],
  },
  {
    name: 'reserves-unlocked',
    says: 'Stock is read without a lock before it is reserved',
    patches: [
      patch(
        'inventory/inventory-queries.ts',
        'FROM ${schema}.inventory WHERE sku = w.sku FOR NO KEY UPDATE) i ON true),',
        'FROM ${schema}.inventory WHERE sku = w.sku) i ON true),',
      ),
    ],
  },
];

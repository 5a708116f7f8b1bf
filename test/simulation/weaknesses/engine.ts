import { patch, type Weakness } from './weakness';

const SETTLER = 'timeouts/engine/timeout-settler.ts';
const STORE = 'orders/sql/order-store.ts';
const LOCKS = 'orders/sql/lock-orders.ts';
const OWN_TRANSACTION = 'database/transaction.ts';

const UNLOCKED = [
  patch(LOCKS, 'ORDER BY o.id FOR NO KEY UPDATE`;', 'ORDER BY o.id`;'),
  patch(LOCKS, "'skip-locked': `${lock} SKIP LOCKED`,", "'skip-locked': lock,"),
];

/** Of locks, leases, transactions, messages, and outages. */
export const ENGINE_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'never-sweeps',
    says: 'Nobody looks for what is overdue',
    patches: [
      patch(
        'timeouts/engine/sweep.ts',
        'if (this.deps.isPaused()) {',
        'this.caughtUp = true;\n    if (!signal.aborted) return false;\n    if (this.deps.isPaused()) {',
      ),
    ],
  },
  {
    name: 'believes-old-answers',
    says: 'The result of a look-up is written after its lease has ended',
    patches: [
      patch(
        SETTLER,
        'AND t.generation = w.generation AND t.lease = w.lease AND ${PENDING}',
        'AND w.lease IS NOT NULL AND ${PENDING}',
      ),
    ],
  },
  {
    name: 'locks-no-timeouts',
    says: 'Two instances may handle one timeout at the same time',
    patches: [
      patch(SETTLER, '(${rows} FOR UPDATE OF t SKIP LOCKED) r)', '(${rows} OFFSET 0) r)'),
      patch(SETTLER, '${overdue} LIMIT $6 FOR UPDATE OF t SKIP LOCKED', '${overdue} LIMIT $6'),
    ],
  },
  {
    name: 'locks-no-orders',
    says: 'Orders are read without a lock',
    patches: UNLOCKED,
  },
  {
    name: 'writes-over-others',
    says: 'Orders are read without a lock and changed whatever their version is',
    patches: [
      ...UNLOCKED,
      patch(
        STORE,
        'AND o.id = s.order_id AND o.version = s.old_version AND o.status = s.from_status',
        'AND o.id = s.order_id',
      ),
    ],
  },
  {
    name: 'locks-in-any-order',
    says: 'Look-ups of several orders lock timeouts and stock order by order',
    patches: [patch('orders/pay/reconcile-payments.ts', 'await this.lockInOrder(due, orders, tx);', '')],
  },
  {
    name: 'never-repeats-conflicts',
    says: 'A deadlock or a serialization failure is told to the caller at once',
    patches: [
      patch(OWN_TRANSACTION, 'const CONFLICT_TRIES = 3;', 'const CONFLICT_TRIES = 1;'),
      patch(SETTLER, 'const CONFLICT_TRIES = 3;', 'const CONFLICT_TRIES = 1;'),
    ],
  },
  {
    name: 'believes-commit',
    says: 'A COMMIT that rolls an aborted transaction back counts as success',
    patches: [
      patch(
        OWN_TRANSACTION,
        "return await send(sql === 'COMMIT' ? `${PROBE}; COMMIT` : sql, ...rest);",
        'return await send(sql, ...rest);',
      ),
    ],
  },
  {
    name: 'believes-lost-commits',
    says: 'A connection that breaks at COMMIT counts as committed',
    patches: [
      patch(
        OWN_TRANSACTION,
        'await this.runner.commitTransaction();',
        'await this.runner.commitTransaction().catch(() => undefined);',
      ),
      patch(OWN_TRANSACTION, 'if (this.runner.isTransactionActive) throw', 'if (!this.mayEnd) throw'),
    ],
  },
  {
    name: 'blames-logins',
    says: 'A refused login counts as a failure of the work',
    patches: [
      patch(
        'database/database-errors.ts',
        'const isLoginRefused = hasCode(/^(28|3D)/);',
        'const isLoginRefused = hasCode(/^-(28|3D)/);',
      ),
      patch(
        'database/database-errors.ts',
        'return links.some((link) => whileConnecting.has(link)) && !links.some(isAway);',
        'return links.some((link) => whileConnecting.has(link)) && links.length < 0;',
      ),
    ],
  },
  {
    name: 'blames-missing-rights',
    says: 'A missing right, a full disk, or a server that only reads counts as a failure of the work',
    patches: [
      patch(
        'database/database-errors.ts',
        'const AWAY_STATES = /^(08|25006|53|57P|58|XX00[0-2])/;',
        'const AWAY_STATES = /^(08|57P|58|XX00[0-2])/;',
      ),
      patch(
        'database/database-errors.ts',
        'const isExhausted = hasCode(/^53/);',
        'const isExhausted = hasCode(/^53300$/);',
      ),
      patch('database/database-errors.ts', 'const UNUSABLE_STATES = /^(42501|', 'const UNUSABLE_STATES = /^('),
    ],
  },
  {
    name: 'deletes-before-confirm',
    says: 'Outbox rows are deleted before the broker has confirmed their messages',
    patches: [
      patch(
        'outbox/outbox-relay.ts',
        'const sent = new SentRows(this.late);',
        'await this.claims.delete(this.deps.dataSource, claimed.rows);\n    const sent = new SentRows(this.late);',
      ),
    ],
  },
  {
    name: 'publishes-without-confirm',
    says: 'A message counts as published as soon as it is written to the socket',
    patches: [
      patch(
        'rabbit/confirmed-publisher.ts',
        'this.unconfirmed.add(unconfirmed);',
        'this.unconfirmed.add(unconfirmed);\n    queueMicrotask(() => this.answered(unconfirmed, null));',
      ),
    ],
  },
  {
    name: 'acknowledges-at-once',
    says: 'A wake-up is acknowledged before its work is done, and nobody looks for what is overdue',
    patches: [
      patch(
        'timeouts/engine/received-wake-ups.ts',
        'private work(delivery: Delivery, wakeUp: WakeUp): void {',
        "private work(delivery: Delivery, wakeUp: WakeUp): void {\n    delivery.acknowledge('ack');",
      ),
      patch(
        'timeouts/engine/sweep.ts',
        'const isFullDue = startedMs - this.lastFullMs >= this.intervalMs(startedMs);',
        'const isFullDue = !this.caughtUp;',
      ),
    ],
  },
  {
    name: 'never-suspects',
    says: 'The message path stays trusted, however many wake-ups it loses',
    patches: [
      patch(
        'timeouts/message-path/path-recovery.ts',
        'const isFault = kinds.some((kind) => isProbation || this.missedBefore.has(kind));',
        'const isFault = false && isProbation;',
      ),
    ],
  },
];

import { patch, type Safety } from './safety';

const SHARED_LANE = patch(
  'outbox/outbox-relay.js',
  "route: 'event', ...event }",
  "route: 'event', ...event, publisher: wakeUp.publisher }",
);

const ONE_RELAY = [
  patch(
    'outbox/outbox-relay.js',
    "const { event, 'wake-up': wakeUp } = lanes;",
    `const wakeUp = {
       publisher: lanes['wake-up'].publisher,
       router() {
         const [event, wakeUp] = [lanes.event.router(), lanes['wake-up'].router()];
         return event && wakeUp && ((row, ms) => (row.route === 'event' ? event : wakeUp)(row, ms));
       },
     };
     const event = wakeUp;`,
  ),
  patch('outbox/outbox-claims.js', "route = '${route}' AND available_at <= now()", 'available_at <= now()'),
];

/** Of what the engine waits for: locks, handlers, queues, connections. */
export const ENGINE_SAFETIES: readonly Safety[] = [
  {
    name: 'no-time-limit-on-runs',
    says: 'a run of a handler that never ends keeps its lane, its rows and its connection',
    patches: [
      patch(
        'timeouts/engine/timeout-settler.js',
        'return (0, handler_adapter_1.withinRunLimit)(this.clock, tx, { kind, keys, ms }, () => handler.handleBatch(due, tx, run));',
        'return handler.handleBatch(due, tx, run);',
      ),
    ],
    // The server ends a session that is idle in a transaction for 5 s, and the rows are free again without us.
    without: [patch('orders/model/order-timeouts.js', 'idleTimeoutMs: 5_000,', 'idleTimeoutMs: 600_000,')],
    kinds: ['hang-a-handler'],
    faults: 6,
    breaks: ['late', 'unclosed'],
  },
  {
    name: 'long-waits-for-locks',
    says: 'a settlement waits for a locked row for as long as a statement may take',
    patches: [
      patch('database/transaction.js', 'if (sinceMs < SHORT_FOR_MS)', 'return 20_000; if (sinceMs < SHORT_FOR_MS)'),
    ],
    kinds: ['lock-a-stock-row'],
    faults: 2,
    breaks: ['late', 'late-events'],
  },
  {
    name: 'locked-rows-are-to-blame',
    says: 'a lock that was not to be had counts as a failure of the order',
    patches: [patch('database/database-errors.js', 'const LIMITS = /^(55P03|57014|25P03)$/;', 'const LIMITS = /^-$/;')],
    kinds: ['lock-a-stock-row'],
    faults: 3,
    breaks: ['parked', 'late'],
  },
  {
    name: 'events-on-the-way-of-wake-ups',
    says: 'events are published on the connection of the wake-ups',
    patches: [SHARED_LANE],
    kinds: ['connection-killing-publish'],
    faults: 2,
    breaks: ['late-events'],
    options: { transport: 'delayed-exchange' },
  },
  {
    name: 'stragglers-are-waited-for',
    says: 'events and wake-ups leave in the same batches, and a batch waits for every confirm',
    patches: [
      ...ONE_RELAY,
      patch(
        'rabbit/publications.js',
        'endsAfterMs: Math.min(LATE_MS, confirmTimeoutMs)',
        'endsAfterMs: confirmTimeoutMs',
      ),
    ],
    kinds: ['suspend-one-queue'],
    faults: 4,
    breaks: ['late-events'],
  },
  {
    name: 'unsendable-is-tried-forever',
    says: 'what can never be sent is released to be sent again',
    patches: [
      patch(
        'outbox/outbox-relay.js',
        'await this.claims.park(dataSource, row, reason);',
        'await this.claims.release(dataSource, [row]);',
      ),
    ],
    kinds: ['oversized-event'],
    faults: 3,
    breaks: ['stuck-events'],
  },
  {
    name: 'claims-read-dead-rows',
    says: 'a claim begins at the oldest entry of the index each time, dead or not',
    patches: [patch('database/scan-window.js', 'sinceMs: this.floorMs, untilMs', 'sinceMs: -Infinity, untilMs')],
    kinds: ['long-snapshot'],
    faults: 2,
    breaks: ['slow-claims'],
  },
  {
    name: 'read-only-sessions-stay',
    says: 'a session whose server only reads goes back to the pool',
    patches: [
      patch(
        'database/database-errors.js',
        'return isReadOnlySession(error) || isUnanswered(error)',
        'return isUnanswered(error)',
      ),
    ],
    kinds: ['read-only-failover'],
    faults: 1,
    breaks: ['late', 'unclosed', 'refused'],
  },
  {
    name: 'own-work-waits-forever',
    says: "an answer that does not come is waited for as long as the host's pool says",
    patches: [patch('database/own-connection.js', 'if (statementMs > 0)', 'if (statementMs > Infinity)')],
    kinds: ['silent-database-connection'],
    faults: 3,
    breaks: ['late', 'unclosed', 'refused'],
    options: { hasBarePool: true },
  },
];

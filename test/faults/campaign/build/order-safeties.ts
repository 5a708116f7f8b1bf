import { patch, type Safety } from './safety';

const NO_SWEEP = patch(
  'timeouts/engine/sweep.js',
  'async tick(signal) {',
  'async tick(signal) { this.caughtUp = true; if (signal) return false;',
);

const BELIEVE_THE_HINT = patch(
  'timeouts/engine/batches.js',
  '!row.busy && (row.remaining_ms <= 0 || isAbandoned(row))',
  '!row.busy',
);

/** Of messages, stock and money. */
export const ORDER_SAFETIES: readonly Safety[] = [
  {
    name: 'ack-before-commit',
    says: 'a command is acknowledged before its transaction has committed',
    patches: [
      patch(
        'rabbit/rabbit-server.js',
        'return await this.run(command, pause);',
        "delivery.acknowledge('ack'); return await this.run(command, pause);",
      ),
    ],
    kinds: ['kill-database', 'crash-point'],
    faults: 5,
    breaks: ['unclosed'],
  },
  {
    name: 'no-generation-fence',
    says: "a message of an older generation is believed, and nobody looks at the row's own time",
    patches: [
      patch(
        'timeouts/model/timeout.js',
        'const wanted = anyGeneration.has(key) ? null : generation;',
        'const wanted = null;',
      ),
      BELIEVE_THE_HINT,
      patch('orders/model/plan-closing.js', 'if (now < dueAt)', 'if (now < 0)'),
    ],
    kinds: [],
    faults: 0,
    breaks: ['early'],
  },
  {
    name: 'delete-before-confirm',
    says: 'outbox rows are deleted before the broker has confirmed their messages',
    patches: [
      patch(
        'outbox/outbox-relay.js',
        'const sent = new',
        'await this.claims.delete(this.deps.dataSource, claimed.rows); const sent = new',
      ),
    ],
    kinds: ['kill-broker', 'cut-broker', 'crash-point'],
    faults: 12,
    breaks: ['lost-events'],
  },
  {
    name: 'publish-without-confirm',
    says: 'a message counts as published as soon as it is written to the socket',
    patches: [
      patch(
        'rabbit/confirmed-publisher.js',
        'this.unconfirmed.add(unconfirmed);',
        'queueMicrotask(() => this.answered(unconfirmed)); this.unconfirmed.add(unconfirmed);',
      ),
    ],
    // Not while the broker is dead: then nothing is published that could be lost.
    kinds: ['half-open-broker'],
    faults: 4,
    breaks: ['lost-events'],
  },
  {
    name: 'ack-on-reopened-channel',
    says: 'a delivery is acknowledged on the newest channel, which knows its tag as that of another one',
    patches: [
      patch(
        'rabbit/consumer.js',
        'new Delivery(message, acks,',
        `new delivery_1.Delivery(message, {
           ack: (one) => (this.acks?.of ?? acks).ack(one),
           nack: (one, ...rest) => (this.acks?.of ?? acks).nack(one, ...rest),
         },`,
      ),
      // What its channel has left behind would not be acknowledged at all.
      patch('rabbit/consumer.js', 'delivery.forget();', ';'),
    ],
    kinds: ['channel-error', 'provider-hangs'],
    faults: 30,
    breaks: ['wrong-acks'],
  },
  {
    name: 'no-sweep',
    says: 'nobody looks for what is overdue',
    patches: [NO_SWEEP],
    kinds: ['purge-queue'],
    faults: 6,
    breaks: ['unclosed'],
  },
  {
    name: 'release-without-grouping',
    says: 'stock is released by UPDATE … FROM without adding up the pieces of an article first',
    patches: [
      patch(
        'inventory/inventory-queries.js',
        'SELECT sku, sum(qty)::int AS quantity, sum(sold)::int AS sold FROM ended GROUP BY sku)',
        'SELECT sku, qty AS quantity, sold FROM ended)',
      ),
    ],
    kinds: [],
    faults: 0,
    breaks: ['stock-drift'],
  },
  {
    name: 'unknown-is-no',
    says: 'a provider that gives no clear answer is taken to have no money',
    patches: [
      patch(
        'orders/lookup/payment-lookups.js',
        // Where a query is read, and not where a reported payment is confirmed.
        'return unknownFinding(answer);\n        default:',
        "return closed('UNKNOWN', {});\n        default:",
      ),
    ],
    kinds: ['provider-hangs', 'provider-errors', 'provider-lies', 'half-open-provider'],
    faults: 12,
    breaks: ['closed-though-paid'],
  },
  {
    name: 'app-clock-decides',
    says: "what is due is decided by the process's clock instead of the database's",
    patches: [
      patch(
        'timeouts/engine/received-wake-ups.js',
        'return this.clock.monotonic() + this.offset;',
        'return Date.now();',
      ),
      BELIEVE_THE_HINT,
      patch('orders/model/plan-closing.js', 'if (now < dueAt)', 'if (Date.now() < dueAt)'),
    ],
    kinds: ['clock-jump'],
    faults: 10,
    breaks: ['early'],
  },
];

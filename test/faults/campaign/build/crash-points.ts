import { type Patch } from './patch';

/** Where an instance may be told to kill itself; each names the moment between two steps. */
export const CRASH_POINTS = [
  'within-transaction',
  'between-claim-and-provider',
  'between-provider-and-commit',
  'between-commit-and-ack',
  'between-outbox-claim-and-publish',
  'between-publish-and-delete',
  'between-command-commit-and-ack',
  'between-transition-and-stock',
] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number];

const at = (point: CrashPoint): string => `globalThis.campaign?.at('${point}');`;

const before = (point: CrashPoint, file: string, find: string): Patch => {
  return { name: point, file, find, replace: `${at(point)} ${find}` };
};

/** The hooks of every run: crash points, the channels that are open, and runs of handlers. */
export const HOOKS: readonly Patch[] = [
  {
    name: 'within-transaction',
    file: 'timeouts/engine/timeout-settler.js',
    find: 'const { due: rows, early = [] } = await selection.lock(tx);',
    replace: `const { due: rows, early = [] } = await selection.lock(tx); if (rows.length > 0) ${at('within-transaction')}`,
  },
  before(
    'between-claim-and-provider',
    'timeouts/engine/external-lookups.js',
    'const answer = await this.lookUpWithin(',
  ),
  {
    name: 'between-provider-and-commit',
    file: 'timeouts/engine/external-lookups.js',
    find: 'this.answers.add({ ...leased, answer });',
    replace: `${at('between-provider-and-commit')} this.answers.add({ ...leased, answer });`,
  },
  {
    name: 'between-commit-and-ack',
    file: 'timeouts/engine/batches.js',
    find: 'committed(batch, items) {',
    replace: `committed(batch, items) { if (items.length > 0) ${at('between-commit-and-ack')}`,
  },
  before(
    'between-outbox-claim-and-publish',
    'outbox/outbox-relay.js',
    'const outcomes = await this.traced(claimed.rows,',
  ),
  before('between-publish-and-delete', 'outbox/outbox-relay.js', 'return this.finish(sent,'),
  {
    name: 'between-command-commit-and-ack',
    file: 'rabbit/rabbit-server.js',
    find: "if (isSettled)\n        delivery.acknowledge('ack');",
    replace: `if (isSettled) { ${at('between-command-commit-and-ack')} delivery.acknowledge('ack'); }`,
  },
  before('between-transition-and-stock', 'orders/sql/order-store.js', 'await this.inventory.end(tx,'),
  {
    name: 'hanging-handler',
    file: 'timeouts/handlers/handler-adapter.js',
    find: 'const outcomes = await this.run(due, tx',
    replace: 'await globalThis.campaign?.mayHang(); const outcomes = await this.run(due, tx',
  },
  {
    name: 'channels',
    file: 'rabbit/kept-channel.js',
    find: 'this.watch(channel);',
    replace: 'this.watch(channel); globalThis.campaign?.sees(channel, this.deps.name);',
  },
];

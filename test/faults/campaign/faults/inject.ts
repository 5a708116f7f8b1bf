import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../support/buyers/random';
import * as broker from './broker-faults';
import * as database from './database-faults';
import * as failover from './failover-faults';
import { type Fault, type Scene } from './fault';
import { type FaultKind } from './fault-kind';
import { type FaultLog } from './fault-log';
import * as instance from './instance-faults';
import { cut, misbehave, silence, swallow } from './network-faults';
import * as outbox from './outbox-faults';
import * as path from './path-faults';
import { type PlannedFault } from './plan-faults';
import { runOldRelease } from './release-faults';
import { TakingTurns } from './taking-turns';

export const FAULTS: Readonly<Record<FaultKind, Fault>> = {
  'kill-instance': instance.killInstance,
  'crash-point': instance.crashAtPoint,
  'freeze-short': instance.freezeShortly,
  'freeze-beyond-lease': instance.freezeBeyondLease,
  'clock-jump': instance.jumpClock,
  'channel-error': instance.breakChannel,
  'terminate-backends': database.terminateBackends,
  'kill-database': database.killDatabase,
  'restart-database': database.restartDatabase,
  'long-transaction': database.openLongTransaction,
  'kill-broker': broker.killBroker,
  'restart-broker': broker.restartBroker,
  'purge-queue': broker.purgeQueues,
  'delete-work-queue': broker.deleteWorkQueue,
  'delete-delay-exchange': broker.deleteDelayExchange,
  'disk-alarm': broker.raiseDiskAlarm,
  'half-open-database': swallow('database', 1_000, 5_000),
  'half-open-broker': swallow('broker', 2_000, 10_000),
  'half-open-provider': swallow('provider', 1_000, 6_000),
  'cut-database': cut('database'),
  'cut-broker': cut('broker'),
  'provider-hangs': misbehave([{ fault: 'hang' }, { fault: 'latency', ms: 3_000 }], 1_000, 4_000),
  'provider-errors': misbehave(
    [{ fault: 'error', status: 503 }, { fault: 'drop' }, { fault: 'rate-limited' }, { fault: 'error-without-body' }],
    1_000,
    4_000,
  ),
  'provider-lies': misbehave(
    [
      { fault: 'wrong-signature' },
      { fault: 'unsigned' },
      { fault: 'wrong-reference' },
      { fault: 'wrong-nonce' },
      { fault: 'garbage' },
      { fault: 'unrecognised' },
      { fault: 'lost-response' },
      { fault: 'not-found' },
      { fault: 'skewed-clock' },
    ],
    500,
    3_000,
  ),
  'lock-a-stock-row': database.lockStockRow,
  'read-only-failover': failover.turnReadOnly,
  'silent-database-connection': silence('database'),
  'silent-broker-connection': silence('broker'),
  'suspend-one-queue': path.suspendQueue,
  'hang-a-handler': instance.hangHandlers,
  'oversized-event': outbox.appendUnsendable,
  'long-snapshot': outbox.holdSnapshot,
  'promote-standby': failover.promoteStandby,
  'two-releases': runOldRelease,
  'empty-broker': path.replaceBroker,
  'path-that-drops': path.dropWakeUps,
  'connection-killing-publish': path.failPublishes,
  'freeze-long': instance.freezeForLong,
  'refused-logins': failover.refuseLogins,
  'connection-limit': failover.limitConnections,
  'missing-right': failover.revokeRight,
  'memory-alarm': broker.raiseMemoryAlarm,
  'missing-permissions': broker.revokePermissions,
  'hasty-policy': path.hastenWakeUps,
  'full-disk': database.fillDisk,
};

/** What these break cannot be told apart from what another one breaks beside them. */
const ALONE: readonly FaultKind[] = [
  ...(['promote-standby', 'two-releases', 'empty-broker'] as const),
  // An instance that starts then takes it for a wrong setting, and ends.
  ...(['refused-logins', 'missing-right'] as const),
];

/** Faults of one lane wait for each other: one cannot kill what is dead already. */
const LANES: readonly (readonly FaultKind[])[] = [
  ['kill-instance', 'crash-point', 'freeze-short', 'freeze-beyond-lease', 'freeze-long'],
  [
    ...(['kill-database', 'restart-database', 'read-only-failover', 'connection-limit'] as const),
    // The rows of the other one have no place on a full disk.
    ...(['full-disk', 'long-snapshot'] as const),
  ],
  [
    ...(['kill-broker', 'restart-broker', 'disk-alarm', 'memory-alarm', 'missing-permissions'] as const),
    ...(['hasty-policy', 'purge-queue', 'delete-work-queue', 'delete-delay-exchange'] as const),
  ],
  ['suspend-one-queue'],
  ['path-that-drops'],
  ['connection-killing-publish'],
  ['half-open-database', 'cut-database', 'silent-database-connection'],
  ['half-open-broker', 'cut-broker', 'silent-broker-connection'],
  ['half-open-provider'],
];

/** Injects every fault at its time. Resolves when all have been undone. */
export async function injectFaults(plan: readonly PlannedFault[], scene: Scene, log: FaultLog): Promise<void> {
  const lanes = new Map<FaultKind, Promise<void>>();
  const turns = new TakingTurns();
  const beganAt = performance.now();
  const running: Promise<void>[] = [];
  for (const planned of plan) {
    await sleep(Math.max(beganAt + planned.atMs - performance.now(), 0), undefined, { signal: scene.signal });
    const lane = LANES.find((kinds) => kinds.includes(planned.kind)) ?? [];
    const before = lanes.get(planned.kind) ?? Promise.resolve();
    const done = before.then(() => {
      const inject = (): Promise<void> => injectOne(planned, scene, log);
      return ALONE.includes(planned.kind) ? turns.alone(inject) : turns.beside(inject);
    });
    for (const kind of lane) lanes.set(kind, done);
    running.push(done);
  }
  await Promise.all(running);
}

async function injectOne({ kind, seed }: PlannedFault, scene: Scene, log: FaultLog): Promise<void> {
  const entry = log.begin(kind, '');
  try {
    await FAULTS[kind](scene, new Random(seed), entry);
  } catch (error) {
    scene.signal.throwIfAborted();
    log.failures.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    entry.endedAt = Math.min(entry.endedAt, Date.now());
  }
}

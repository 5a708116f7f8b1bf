import { Random } from '../../../support/buyers/random';
import { type CampaignTransport } from '../campaign-options';
import { FAULT_KINDS, type FaultKind } from './fault-kind';

/** One fault of the plan. */
export interface PlannedFault {
  readonly atMs: number;
  readonly kind: FaultKind;
  /** For everything that is drawn when it is injected. */
  readonly seed: number;
}

/** How often, in relation to each other. What costs seconds of restarting is rarer. */
const WEIGHTS: Readonly<Record<FaultKind, number>> = {
  'kill-instance': 16,
  'crash-point': 40,
  'freeze-short': 8,
  'freeze-beyond-lease': 5,
  'terminate-backends': 34,
  'kill-database': 5,
  'restart-database': 2,
  'long-transaction': 10,
  'kill-broker': 5,
  'restart-broker': 2,
  'purge-queue': 14,
  'delete-work-queue': 8,
  'delete-delay-exchange': 10,
  'channel-error': 28,
  'disk-alarm': 6,
  'half-open-database': 6,
  'half-open-broker': 8,
  'half-open-provider': 12,
  'cut-database': 14,
  'cut-broker': 14,
  'provider-hangs': 14,
  'provider-errors': 12,
  'provider-lies': 24,
  'clock-jump': 20,
  'lock-a-stock-row': 6,
  'read-only-failover': 4,
  'silent-database-connection': 8,
  'silent-broker-connection': 8,
  'suspend-one-queue': 10,
  'hang-a-handler': 8,
  'oversized-event': 8,
  'long-snapshot': 2,
  'promote-standby': 3,
  'two-releases': 2,
  'empty-broker': 3,
  // It lasts more than a minute.
  'path-that-drops': 1,
  'connection-killing-publish': 5,
  // So does this.
  'freeze-long': 1,
  'refused-logins': 3,
  'connection-limit': 4,
  'missing-right': 3,
  'memory-alarm': 4,
  'missing-permissions': 5,
  'hasty-policy': 5,
  'full-disk': 4,
};

const OF_THE_WAITING_ROOM: readonly FaultKind[] = [
  ...(['purge-queue', 'delete-work-queue', 'delete-delay-exchange', 'suspend-one-queue', 'path-that-drops'] as const),
];

/** Pure: `count` faults over `durationMs`; the same seed gives the same. Every kind comes before any comes twice. */
export function planFaults(seed: number, wish: FaultWish): PlannedFault[] {
  const { count, durationMs, kinds, areApart } = wish;
  const random = new Random(seed ^ 0x5eed);
  const wanted = (kinds ?? FAULT_KINDS).filter((kind) => isPossible(kind, wish));
  if (count > 0 && wanted.length === 0)
    throw new Error(`none of these faults is possible in this run: ${kinds?.join(', ')}`);
  const drawn = random.shuffled(wanted).slice(0, count);
  while (drawn.length < count) drawn.push(draw(wanted, random));
  const gapMs = durationMs / Math.max(count, 1);
  return random.shuffled(drawn).map((kind, index) => {
    const offset = random.next();
    const atMs = Math.round((index + (areApart ? 0.5 : offset)) * gapMs);
    return { atMs, kind, seed: random.between(0, 2 ** 31 - 1) };
  });
}

export interface FaultWish {
  readonly count: number;
  readonly durationMs: number;
  readonly transport: CampaignTransport;
  /** The database has a standby. */
  readonly hasStandby: boolean;
  /** The database is on a disk that can be filled. */
  readonly hasSmallDisk: boolean;
  /** The build of the release before this one is there. */
  readonly hasPreviousRelease: boolean;
  /** They begin at even distances. */
  readonly areApart: boolean;
  /** Only these. */
  readonly kinds?: readonly FaultKind[] | undefined;
}

/** Without a waiting room on the broker there is nothing of it to break; only the delayed exchange has a plugin. */
function isPossible(kind: FaultKind, { transport, hasStandby, hasSmallDisk, hasPreviousRelease }: FaultWish): boolean {
  if (kind === 'promote-standby') return hasStandby;
  if (kind === 'full-disk') return hasSmallDisk;
  if (kind === 'two-releases') return hasPreviousRelease;
  if (kind === 'connection-killing-publish') return transport === 'delayed-exchange';
  if (kind === 'hasty-policy') return transport === 'ladder';
  return transport !== 'none' || !OF_THE_WAITING_ROOM.includes(kind);
}

function draw(kinds: readonly FaultKind[], random: Random): FaultKind {
  const total = kinds.reduce((sum, kind) => sum + WEIGHTS[kind], 0);
  let left = random.next() * total;
  for (const kind of kinds) {
    left -= WEIGHTS[kind];
    if (left < 0) return kind;
  }
  return kinds[0] ?? 'kill-instance';
}

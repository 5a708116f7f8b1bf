import { Random } from '../../../examples/demo/buyers/random';
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
};

/** Pure: `count` faults over `durationMs`; the same seed gives the same. Every kind comes before any comes twice. */
export function planFaults(seed: number, { count, durationMs, transport, kinds, areApart }: FaultWish): PlannedFault[] {
  const random = new Random(seed ^ 0x5eed);
  const wanted = (kinds ?? FAULT_KINDS).filter((kind) => isPossible(kind, transport));
  const drawn = random.shuffled(wanted).slice(0, count);
  while (drawn.length < count) drawn.push(draw(wanted, random));
  const gapMs = durationMs / Math.max(count, 1);
  return random.shuffled(drawn).map((kind, index) => {
    const offset = random.next();
    const atMs = Math.round((index + (areApart ? 0 : offset)) * gapMs);
    return { atMs, kind, seed: random.between(0, 2 ** 31 - 1) };
  });
}

interface FaultWish {
  readonly count: number;
  readonly durationMs: number;
  readonly transport: CampaignTransport;
  /** They begin at even distances. */
  readonly areApart: boolean;
  /** Only these. */
  readonly kinds?: readonly FaultKind[] | undefined;
}

/** Without a waiting room on the broker there is nothing of it to purge or delete. */
function isPossible(kind: FaultKind, transport: CampaignTransport): boolean {
  return transport !== 'none' || !['purge-queue', 'delete-work-queue', 'delete-delay-exchange'].includes(kind);
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

import {
  type Contestant,
  type Medians,
  type Metric,
  type Ring,
  type Sample,
  type Target,
  type Workload,
} from '../contestant';
import { type Peer, PEERS } from '../peers';
import { type Runner, runProgram } from '../peers/run-program';

const SCHEDULED = 5_000;
const BULK = 50_000;
const FIRED = 20_000;
const SPREAD_MS = 30_000;
/** Everybody has stored everything by then, and handed it to its broker if it has one. */
const LEAD_MS = 15_000;

const PRODUCT: readonly Peer[] = (['ladder', 'none'] as const).map((transport) => ({
  name: `product, ${transport}`,
  role: 'product',
  runner: { peer: 'product', transport },
}));

async function runShapes(runner: Runner, ring: Ring): Promise<Sample> {
  const count = (full: number): number => (ring.isShort ? full / 10 : full);
  const leadMs = ring.isShort ? 4_000 : LEAD_MS;
  const one = await runProgram(runner, { shape: 'schedule', count: count(SCHEDULED) }, ring);
  const bulk = await runProgram(runner, { shape: 'bulk', count: count(BULK) }, ring);
  const spread = { shape: 'fire', count: count(FIRED), leadMs, spreadMs: count(SPREAD_MS) } as const;
  const { p50Ms = Number.NaN, p99Ms = Number.NaN } = await runProgram(runner, spread, ring);
  const drain = await runProgram(runner, { shape: 'fire', count: count(FIRED), leadMs }, ring);
  const { perSecond: schedulePerSecond = 0 } = one;
  return { schedulePerSecond, bulkPerSecond: bulk.perSecond ?? 0, p50Ms, p99Ms, drainPerSecond: drain.perSecond ?? 0 };
}

const contestant = ({ name, role, runner }: Peer): Contestant => ({
  name,
  role,
  run: (ring) => runShapes(runner, ring),
});

const metrics: readonly Metric[] = [
  { key: 'schedulePerSecond', title: 'scheduled/s one at a time, 50 callers', better: 'higher' },
  { key: 'bulkPerSecond', title: 'scheduled/s in bulk', better: 'higher' },
  { key: 'p50Ms', title: 'p50 late ms', better: 'lower', hasRatio: false },
  { key: 'p99Ms', title: 'p99 late ms, 20 000 over 30 s', better: 'lower' },
  { key: 'drainPerSecond', title: 'done/s, 20 000 due at once', better: 'higher' },
];

/** The engine alone, with a handler that does nothing. */
export const BARE_ENGINE: Workload = {
  id: 'B8',
  title: 'bare engine: timeouts with a handler that does nothing',
  contestants: [...PRODUCT, ...PEERS].map(contestant),
  metrics,
  targets: PRODUCT.flatMap(({ name }) => [
    target(name, 'one at a time ≥ 2 × pg-boss', 2, 'schedulePerSecond', (medians, key) => medians.of('pg-boss', key)),
    target(name, 'bulk ≥ 0.7 × pg-boss', 0.7, 'bulkPerSecond', (medians, key) => medians.of('pg-boss', key)),
    target(name, 'drain ≥ 1 × the best peer', 1, 'drainPerSecond', best(Math.max)),
    lateness(name),
  ]),
};

/** Of those that lose nothing that they have taken, as the product. */
function best(choose: (...values: number[]) => number): (medians: Medians, key: string) => number | undefined {
  const equals = PEERS.filter(({ runner }) => runner.appendFsync !== 'everysec');
  return (medians, key) => {
    const values = equals.map(({ name }) => medians.of(name, key)).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : choose(...values);
  };
}

function target(
  product: string,
  says: string,
  atLeast: number,
  key: string,
  other: (medians: Medians, key: string) => number | undefined,
): Target {
  return {
    says: `${product}: ${says}`,
    judge: (medians) => {
      const [mine, theirs] = [medians.of(product, key), other(medians, key)];
      if (mine === undefined || theirs === undefined) return undefined;
      return { value: mine / theirs, isMet: mine / theirs >= atLeast };
    },
  };
}

function lateness(product: string): Target {
  return {
    says: `${product}: p99 lateness < every peer's`,
    judge: (medians) => {
      const [mine, theirs] = [medians.of(product, 'p99Ms'), best(Math.min)(medians, 'p99Ms')];
      if (mine === undefined || theirs === undefined) return undefined;
      return { value: mine / theirs, isMet: mine < theirs };
    },
  };
}

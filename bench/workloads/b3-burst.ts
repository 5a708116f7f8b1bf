import { type DelayTransportSetting } from '../../src';
import { type Contestant, type Medians, type Ring, type Target, type Workload } from '../contestant';
import { batchFloor } from '../floors/batch-floor';
import { pgbenchFloor } from '../floors/pgbench-floor';
import { burstPeers } from '../peers';
import { runBurst } from '../product/run-burst';

const PREFIX = 'b3';
const ordersIn = (ring: Ring): number => (ring.isShort ? 2_000 : 20_000);
const product = (transport: DelayTransportSetting): Contestant => ({
  name: `product, ${transport}`,
  role: 'product',
  run: (ring) => runBurst(ring, { prefix: PREFIX, name: `B3-${transport}`, transport, count: ordersIn(ring) }),
});

const TRANSPORTS = ['ladder', 'none'] as const;
const pgbench = pgbenchFloor(PREFIX, ordersIn);
const batches = [1, 2].map((connections) => batchFloor(PREFIX, ordersIn, connections));

/** 20 000 orders due at one instant, without payment attempts. */
export const BURST: Workload = {
  id: 'B3',
  title: 'burst: 20 000 orders due at the same instant, no payment attempt',
  contestants: [...TRANSPORTS.map((transport) => product(transport)), ...burstPeers, pgbench, ...batches],
  metrics: [
    { key: 'perSecond', title: 'orders closed/s', better: 'higher' },
    { key: 'firstMs', title: 'first ms', better: 'lower', hasRatio: false },
    { key: 'p50Ms', title: 'p50 ms', better: 'lower', hasRatio: false },
    { key: 'lastMs', title: 'last ms', better: 'lower', hasRatio: false },
    { key: 'eventsMs', title: 'events out ms', better: 'lower', hasRatio: false },
    { key: 'serviceCpuUs', title: 'service CPU µs/order', better: 'lower', hasRatio: false },
  ],
  targets: TRANSPORTS.flatMap((transport) => [
    target(transport, "the best peer's real work", 8, (medians) => medians.highest('peer', 'perSecond')),
    target(transport, 'the prepared pgbench', 4, (medians) => medians.of(pgbench.name, 'perSecond')),
    target(transport, 'the bare batches on two connections', 0.3, (medians) =>
      medians.of(batches[1]?.name ?? '', 'perSecond'),
    ),
    target(transport, 'the bare batches on one connection', 0.3, (medians) =>
      medians.of(batches[0]?.name ?? '', 'perSecond'),
    ),
  ]),
};

function target(
  transport: DelayTransportSetting,
  what: string,
  atLeast: number,
  other: (medians: Medians) => number | undefined,
): Target {
  return {
    says: `orders/s (${transport}) ≥ ${atLeast} × ${what}`,
    judge: (medians) => {
      const mine = medians.of(product(transport).name, 'perSecond');
      const theirs = other(medians);
      if (mine === undefined || theirs === undefined) return undefined;
      return { value: mine / theirs, isMet: mine / theirs >= atLeast };
    },
  };
}

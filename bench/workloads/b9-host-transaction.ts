import { type Contestant, type Workload } from '../contestant';
import { closing, type Peer, PEERS } from '../peers';

const ORDERS = 10_000;

const PRODUCT: readonly Peer[] = (['ladder', 'none'] as const).flatMap((transport): Peer[] => [
  {
    name: `product, ${transport}, batch handler`,
    role: 'product',
    runner: { peer: 'product', transport, isBatched: true },
  },
  {
    name: `product, ${transport}, single handler`,
    role: 'product',
    runner: { peer: 'product', transport, isSingle: true },
  },
  {
    name: `product, ${transport}, single handler, batches of 1`,
    role: 'product',
    runner: { peer: 'product', transport, isSingle: true, isAlone: true },
  },
]);

/** The only peer that hands out batches: what its user gets who writes SQL for a batch, too. */
const BATCHES: Peer = {
  name: 'pg-boss, batch handler',
  role: 'peer',
  runner: { peer: 'pg-boss', isBatched: true },
};

const contestant = ({ name, role, runner }: Peer): Contestant => ({
  name,
  role,
  run: (ring) => closing(ORDERS)(runner, ring),
});

/** The engine in a host that closes its own orders, with the same SQL for everybody. */
export const HOST_TRANSACTION: Workload = {
  id: 'B9',
  title: "10 000 due at once, each closing an order in the host's own tables",
  contestants: [...PRODUCT, ...PEERS, BATCHES].map(contestant),
  metrics: [
    { key: 'perSecond', title: 'orders closed/s', better: 'higher' },
    { key: 'repeated', title: 'rolled back', better: 'lower', hasRatio: false },
  ],
};

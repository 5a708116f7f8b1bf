import { type Contestant, type Ring, type Workload } from '../contestant';
import { runBurst } from '../product/run-burst';

const PREFIX = 'scale';

const ordersIn = (ring: Ring): number => (ring.isShort ? 2_000 : 20_000);

const product = (instances: number): Contestant => ({
  name: `${instances} instance${instances === 1 ? '' : 's'}`,
  role: 'product',
  run: (ring) => {
    const name = `SCALE-${instances}`;
    return runBurst(ring, { prefix: PREFIX, name, transport: 'ladder', count: ordersIn(ring), instances });
  },
});

/** What more instances cost and bring, on one machine. */
export const SCALE: Workload = {
  id: 'SCALE',
  title: 'scale: the burst of B3 by the ladder, with several instances on this machine',
  contestants: [product(1), product(2), product(4)],
  metrics: [
    { key: 'perSecond', title: 'orders closed/s', better: 'higher', hasRatio: false },
    { key: 'p50Ms', title: 'p50 ms', better: 'lower', hasRatio: false },
    { key: 'lastMs', title: 'last ms', better: 'lower', hasRatio: false },
    { key: 'serviceCpuUs', title: 'service CPU µs/order', better: 'lower', hasRatio: false },
  ],
};

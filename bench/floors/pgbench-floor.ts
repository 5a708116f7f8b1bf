import { type Contestant, type Ring } from '../contestant';
import { closeOne } from './close-statements';
import { checkFloor, placeOverdue } from './placed-orders';
import { runPgbench } from './run-pgbench';

/** On two cores 10 are as fast, 50 a quarter slower. */
const CLIENTS = 20;

/** One order a transaction by prepared statements, each order once. */
export function pgbenchFloor(prefix: string, ordersIn: (ring: Ring) => number): Contestant {
  return {
    name: `pgbench, one order a transaction, prepared, ${CLIENTS} clients`,
    role: 'floor',
    run: async (ring) => {
      const count = ordersIn(ring);
      await placeOverdue(ring, prefix, count);
      const perSecond = await runPgbench(ring, {
        script: ['\\set number :client_id * :each + :n', ...closeOne(`'${prefix}-' || lpad(:number::text, 8, '0')`)],
        clients: CLIENTS,
        transactions: count / CLIENTS,
        variables: { each: count / CLIENTS },
      });
      await checkFloor(ring, prefix, count);
      return { perSecond };
    },
  };
}

import { type Contestant, type Ring, type Sample } from './contestant';
import { type Runner, runProgram } from './peers/run-program';

/** A contestant without its workload. */
export interface Peer extends Pick<Contestant, 'name' | 'role'> {
  readonly runner: Runner;
}

/** What a user would pick instead. BullMQ twice, as only with `always` it is as durable as the others. */
export const PEERS: readonly Peer[] = [
  { name: 'BullMQ, fsync every second', role: 'peer', runner: { peer: 'bullmq', appendFsync: 'everysec' } },
  { name: 'BullMQ, fsync always', role: 'peer', runner: { peer: 'bullmq', appendFsync: 'always' } },
  { name: 'pg-boss', role: 'peer', runner: { peer: 'pg-boss' } },
  { name: 'graphile-worker', role: 'peer', runner: { peer: 'graphile-worker' } },
  { name: 'raw RabbitMQ, one quorum level', role: 'peer', runner: { peer: 'rabbitmq' } },
];

/** Orders of a host that are due at once, closed in one transaction each. */
export const closing = (count: number): ((runner: Runner, ring: Ring) => Promise<Sample>) => {
  return async (runner, ring) => {
    const shape = {
      shape: 'close',
      count: ring.isShort ? 1_000 : count,
      leadMs: ring.isShort ? 5_000 : 12_000,
    } as const;
    const { perSecond = 0, repeated = 0 } = await runProgram(runner, shape, ring);
    return { perSecond, repeated };
  };
};

const BURST = 20_000;

/** For B3: the same work in the host's own tables, one transaction each, at the size of B3. */
export const burstPeers: readonly Contestant[] = PEERS.map(({ name, role, runner }) => ({
  name,
  role,
  run: (ring) => closing(BURST)(runner, ring),
}));

import { parkedQueueArguments, workQueueArguments } from './queue-arguments';
import { type QueueType } from './rabbit-options';
import { type TopologyNames } from './topology-names';

/** An exchange as the service declares it. */
export interface ExpectedExchange {
  readonly name: string;
  readonly type: 'fanout' | 'direct' | 'topic';
  readonly alternateExchange?: string;
}

/** A durable queue as the service declares it. */
export interface ExpectedQueue {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What every instance declares, whatever the delay transport is: see `declareBase`. */
export function expectedTopology(
  names: TopologyNames,
  queueType: QueueType,
  kinds: readonly string[],
): { readonly exchanges: readonly ExpectedExchange[]; readonly queues: readonly ExpectedQueue[] } {
  const working = workQueueArguments(queueType, names);
  return {
    exchanges: [
      { name: names.parked, type: 'fanout' },
      { name: names.work, type: 'direct', alternateExchange: names.parked },
      { name: names.events, type: 'topic' },
      { name: names.commands, type: 'topic' },
    ],
    queues: [
      { name: names.parked, arguments: parkedQueueArguments(queueType) },
      { name: names.commands, arguments: working },
      ...kinds.map((kind) => ({ name: names.workQueue(kind), arguments: working })),
    ],
  };
}

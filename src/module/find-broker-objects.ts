import { Ladder, type LadderOptions } from '../delay';
import {
  BrokerInspection,
  type BrokerObjects,
  type ChannelModel,
  expectedTopology,
  ManagementError,
  type ManagementApi,
  type QueueType,
  type TopologyNames,
} from '../rabbit';

/** What may have been declared on the broker. */
export interface DeclaredTopology {
  readonly names: TopologyNames;
  readonly queueType: QueueType;
  readonly kinds: readonly string[];
  readonly ladder: Omit<LadderOptions, 'queueType'>;
}

/** What is on the broker, and what is at stake if it is deleted. */
export interface FoundObjects extends BrokerObjects {
  /** Commands that no instance has taken yet, and parked messages. */
  readonly messages: number;
  /** Of the queues of commands and wake-ups: instances that run. */
  readonly consumers: number;
  /** False: only names that this configuration leads to were looked for, because nothing could list the others. */
  readonly isComplete: boolean;
}

/** Finds our queues and exchanges. The management API lists also those of earlier configurations. */
export async function findBrokerObjects(
  connection: ChannelModel,
  topology: DeclaredTopology,
  api: Pick<ManagementApi, 'queues' | 'exchanges'>,
): Promise<FoundObjects> {
  const { names, kinds } = topology;
  const inspection = new BrokerInspection(connection);
  const listed = await listAll(api, names.prefix);
  const { queues, exchanges } = listed ?? (await presentOf(inspection, knownObjects(topology)));
  const working = await Promise.all([names.commands, ...kinds.map((kind) => names.workQueue(kind))].map(factsOf));
  const [commands] = working;
  const parked = await factsOf(names.parked);
  return {
    ...{ queues, exchanges },
    messages: (commands?.messages ?? 0) + parked.messages,
    consumers: working.reduce((sum, { consumers }) => sum + consumers, 0),
    isComplete: listed !== undefined,
  };

  async function factsOf(queue: string): Promise<{ messages: number; consumers: number }> {
    return (await inspection.queue(queue)) ?? { messages: 0, consumers: 0 };
  }
}

/** Undefined: the API may not be used, or is not there. */
async function listAll(
  api: Pick<ManagementApi, 'queues' | 'exchanges'>,
  prefix: string,
): Promise<BrokerObjects | undefined> {
  const ours = (all: readonly { readonly name: string }[]): string[] =>
    all.map(({ name }) => name).filter((name) => name.startsWith(`${prefix}.`));
  try {
    return { queues: ours(await api.queues()), exchanges: ours(await api.exchanges()) };
  } catch (error) {
    if (error instanceof ManagementError) return undefined;
    throw error;
  }
}

function knownObjects({ names, queueType, kinds, ladder: options }: DeclaredTopology): BrokerObjects {
  const ladder = new Ladder(names, { ...options, queueType });
  const base = expectedTopology(names, queueType, kinds);
  const exchanges = base.exchanges.map(({ name }) => name);
  return {
    queues: [...base.queues, ...ladder.queues].map(({ name }) => name),
    exchanges: [...exchanges, ...ladder.exchanges, names.owner, names.delayed],
  };
}

async function presentOf(inspection: BrokerInspection, known: BrokerObjects): Promise<BrokerObjects> {
  const queues: string[] = [];
  const exchanges: string[] = [];
  for (const name of known.queues) if (await inspection.queue(name)) queues.push(name);
  for (const name of known.exchanges) if (await inspection.hasExchange(name)) exchanges.push(name);
  return { queues, exchanges };
}

import { type DataSource, type EntityManager } from 'typeorm';
import { ownTransaction, validateSchemaName, RECORD_TABLES } from '../database';
import { countUnsentEvents } from '../outbox';
import { countTimeouts } from '../timeouts';
import { OWN_TABLES } from '../operations';
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

/** An object of the schema, such as `table orders`. */
export interface SchemaObject {
  readonly kind: OwnedKind;
  readonly name: string;
}

/** What the schema has of ours, and of others. */
interface InstalledObjects {
  readonly ours: readonly SchemaObject[];
  /** They keep the schema from being dropped. */
  readonly others: readonly SchemaObject[];
}

/** Sequences of a column go with their table. */
const OBJECTS = `
  SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END AS kind, c.relname::text AS name
    FROM pg_class c
   WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i'))
  UNION ALL
  SELECT 'function', p.proname::text FROM pg_proc p
   WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
   ORDER BY 1, 2`;

/** Views first, because they depend on tables; functions after the triggers of the tables. */
const ORDER: readonly OwnedKind[] = ['view', 'table', 'sequence', 'function'];

/** Reads what the schema has. Nothing, if there is no such schema. */
export async function readInstalledObjects(
  on: Pick<DataSource | EntityManager, 'query'>,
  schema: string,
): Promise<InstalledObjects> {
  const objects = await on.query<SchemaObject[]>(OBJECTS, [schema]);
  return { ours: objects.filter(isOurs), others: objects.filter((object) => !isOurs(object)) };
}

/**
 * Drops our objects in one transaction, and the schema if nothing else is in it. Without CASCADE: if an object of
 * somebody else depends on one of ours, PostgreSQL's error names both, and nothing is dropped.
 */
export function uninstallTables(dataSource: DataSource, schema: string): Promise<InstalledObjects> {
  validateSchemaName(schema);
  return ownTransaction(
    dataSource,
    async (tx) => {
      const installed = await readInstalledObjects(tx, schema);
      for (const kind of ORDER) await drop(tx, schema, installed.ours, kind);
      if (installed.others.length === 0) await tx.query(`DROP SCHEMA IF EXISTS ${schema}`);
      return installed;
    },
    // Behind a running instance or a pg_dump, all others would queue behind this.
    { lockMs: 5_000 },
  );
}

async function drop(tx: EntityManager, schema: string, ours: readonly SchemaObject[], kind: OwnedKind): Promise<void> {
  const names = ours.filter((object) => object.kind === kind).map(({ name }) => `${schema}.${name}`);
  if (names.length > 0) await tx.query(`DROP ${kind.toUpperCase()} ${names.join(', ')}`);
}

function isOurs({ kind, name }: SchemaObject): boolean {
  return (OWNED_OBJECTS[kind] as readonly string[]).includes(name);
}

/** Everything that the migrations leave in the schema. Indexes, constraints, and triggers go with their table. */
export const OWNED_OBJECTS = {
  view: ['orphan_payment'],
  table: [...Object.keys(OWN_TABLES).filter((name) => name !== 'timeout_generation'), ...RECORD_TABLES],
  sequence: ['timeout_generation'],
  function: ['guard_history', 'refuse_history_change', 'payment_name'],
} as const satisfies Record<string, readonly string[]>;

type OwnedKind = keyof typeof OWNED_OBJECTS;

/** Work in the tables that would never be done. */
export interface OpenWork {
  readonly timeouts: number;
  readonly events: number;
  readonly kinds: readonly string[];
}

const NOTHING: OpenWork = { timeouts: 0, events: 0, kinds: [] };

/** Counts the open work. Nothing, if the tables are not there. */
export async function readOpenWork(
  dataSource: DataSource,
  schema: string,
  installed: readonly SchemaObject[],
): Promise<OpenWork> {
  const names = installed.map(({ name }) => name);
  if (!names.includes('timeout') || !names.includes('outbox')) return NOTHING;
  const counts = await countTimeouts(dataSource, schema);
  return {
    timeouts: counts.reduce((sum, { pending, parked }) => sum + pending + parked, 0),
    events: await countUnsentEvents(dataSource, schema),
    kinds: counts.map(({ kind }) => kind),
  };
}

/** What may have been declared on the broker. */
interface DeclaredTopology {
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

import { type DataSource } from 'typeorm';
import {
  isDatabaseClosed,
  isDatabaseMissing,
  isLoginRefused,
  isOutOfConnections,
  isPermissionDenied,
  isPoolerRefusing,
  isUserShutOut,
  nameOwnSchema,
} from '../../database';
import { messageOf } from '../../errors';
import {
  BrokerInspection,
  DELIVERY_LIMIT,
  ManagementApi,
  permitCommand,
  type RabbitClient,
  type ListedQueue,
  type TopologyNames,
} from '../../rabbit';
import { countTimeouts, type PathFacts, readPathFacts } from '../../timeouts';
import { type BrokerDependencies, BrokerExamination, ladderOf, type UsableBroker } from './broker-examination';
import { DOCTOR_LIMITS, type DoctorLimits, type DoctorReport, Notes, noteRelease } from './notes';
import { onBroker } from './on-broker';
import { type MigrationFact, SchemaExamination } from './schema-examination';
import { ServerExamination } from './server-examination';

/** What to examine. Nothing of it must run. */
export interface Patient {
  /** @throws if the database cannot be reached */
  connect(): Promise<DataSource>;
  readonly schema: string;
  readonly poolSize: number;
  /** Whether the service prepares statements. */
  readonly prepares: boolean;
  /** Not started. Undefined: the service runs without a broker. */
  readonly client: RabbitClient | undefined;
  /** Kinds that every instance of the service handles. Kinds with pending timeouts are added. */
  readonly kinds: readonly string[];
  readonly transport: BrokerDependencies['transport'];
  readonly ladder: BrokerDependencies['ladder'];
  readonly horizonMs: number;
  /** Of the management plugin; undefined: the host of the broker, on the plugin's usual port. */
  readonly managementUrl?: string | undefined;
  readonly limits?: Partial<DoctorLimits>;
  /** The host's time, epoch milliseconds. */
  now(this: void): number;
  /** The migrations of this release and of the schema. */
  migrations(dataSource: DataSource): Promise<readonly MigrationFact[]>;
  /** Throws if this release cannot work with the schema. */
  assertMigrated(dataSource: DataSource): Promise<void>;
}

interface FromDatabase extends Partial<PathFacts> {
  readonly kinds: readonly string[];
}

/** Examines the database and the broker of the service. Never rejects because one of them is broken: that is a finding. */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const notes = new Notes();
  const limits = { ...DOCTOR_LIMITS, ...patient.limits };
  nameOwnSchema(patient.schema);
  const { databaseId, kinds, transport: inUse, path } = await examineDatabase(patient, limits, notes);
  const { client, transport, ladder, horizonMs } = patient;
  if (!client) {
    notes.skip('the broker', 'none is configured');
    return notes.report;
  }
  const broker = { client, transport, ladder, horizonMs, databaseId, inUse, kinds, probeMs: limits.probeMs };
  const theirs = pathOfOthers(broker, path);
  if (theirs !== undefined) {
    await tellOtherSettings(broker, theirs, notes);
    return notes.report;
  }
  const usable = await new BrokerExamination(broker, notes).run();
  if (usable) await examineManagement(client, { ...usable, managementUrl: patient.managementUrl }, notes);
  else notes.skip('policies, alarms, and listeners', 'no connection to the broker');
  return notes.report;
}

/** Where the instances hand wake-ups, if it is elsewhere than with these settings. */
function pathOfOthers(broker: BrokerDependencies, path: string | undefined): string | undefined {
  const isOurs = ['none', ...addressesOf(broker)].some((address) => path?.startsWith(`${address}/`));
  return isOurs ? undefined : path?.slice(0, path.lastIndexOf('/'));
}

const addressesOf = (broker: BrokerDependencies): string[] => [ladderOf(broker).address, broker.client.names.delayed];

/**
 * All that the instances have declared looks broken, and remedies would break it. Only what keeps instances with these
 * settings from the broker is looked for: they would be recorded once they are connected.
 */
async function tellOtherSettings(broker: BrokerDependencies, theirs: string, notes: Notes): Promise<void> {
  const { client } = broker;
  const refusal = await notes.examine('rights to publish', () =>
    onBroker(client, notes, (connection) => new BrokerInspection(connection).publishRefusal(client.names.events)),
  );
  const ours = addressesOf(broker).join(' or ');
  const seen = `The instances hand wake-ups to ${theirs}, and with these settings they would hand them to ${ours}.`;
  const remedy =
    'Run it with the variables of the service, such as RABBITMQ_PREFIX, RABBITMQ_QUEUE_TYPE, and LADDER_BASE, or start all instances with these.';
  if (refusal === undefined) notes.error('other-settings', seen, remedy);
  else notes.error('other-settings', `${seen} The broker refuses these: ${refusal}.`, `${remedy} ${permit(client)}`);
  notes.skip('the broker', 'its names depend on these settings');
}

/** For instances that have these settings already. */
function permit({ options, names }: RabbitClient): string {
  const command = permitCommand(new URL(options.urls.at(-1) ?? ''), names);
  return `If they have these already, run: ${command} (it replaces the user's rights in this vhost; to keep those, join the patterns with |: docs/security.md).`;
}

async function examineDatabase(patient: Patient, limits: DoctorLimits, notes: Notes): Promise<FromDatabase> {
  const dataSource = await patient.connect().catch((error: unknown) => {
    unreachable(error, notes);
    notes.skip('tables, timeouts, and outbox', 'no connection to the database');
    return undefined;
  });
  if (!dataSource) return { kinds: patient.kinds };
  try {
    return await examineTables(patient, dataSource, limits, notes);
  } finally {
    await dataSource.destroy();
  }
}

async function examineTables(
  patient: Patient,
  dataSource: DataSource,
  limits: DoctorLimits,
  notes: Notes,
): Promise<FromDatabase> {
  const { schema, poolSize, prepares, horizonMs, kinds, now } = patient;
  await new ServerExamination({ dataSource, schema, poolSize, prepares, limits, now }, notes).run();
  const tables = {
    ...{ dataSource, schema, horizonMs, limits },
    assertMigrated: () => patient.assertMigrated(dataSource),
    migrations: () => patient.migrations(dataSource),
  };
  if (!(await new SchemaExamination(tables, notes).run())) return { kinds };
  const counts = (await notes.examine('kinds of timeouts', () => countTimeouts(dataSource, schema))) ?? [];
  const facts = await notes.examine('message path', () => readPathFacts(dataSource, schema));
  return { ...facts, kinds: [...new Set([...kinds, ...counts.map(({ kind }) => kind)])] };
}

async function examineManagement(
  client: RabbitClient,
  { delivers, managementUrl }: UsableBroker & Pick<Patient, 'managementUrl'>,
  notes: Notes,
): Promise<void> {
  const [url = ''] = client.options.urls;
  const api = await notes.examine(MANAGED, async () => new ManagementApi(url, managementUrl));
  if (api) await new ManagementExamination(api, client.names, delivers, notes).run();
}

function unreachable(error: unknown, notes: Notes): void {
  const why = messageOf(error);
  const where = 'docs/runbook.md, "The database is unavailable"';
  if (isLoginRefused(error)) {
    const remedy = `${letIn(error)} Its open sessions go on until they end (${where}).`;
    return notes.error('database-login-refused', `The database server refuses the login: ${why}.`, remedy);
  }
  if (isOutOfConnections(error)) {
    const remedy = `End other sessions, lower DATABASE_POOL_SIZE, or raise max_connections, or the CONNECTION LIMIT of the user or of the database (${where}).`;
    return notes.error('database-connections', `The database server has no connection left for us: ${why}.`, remedy);
  }
  if (isPermissionDenied(error)) {
    const [database = 'the database'] = /database "[^"]*"/.exec(why) ?? [];
    const remedy = `Run as its owner: GRANT CONNECT ON ${database.replace('database', 'DATABASE')} TO the user of DATABASE_URL (${where}).`;
    return notes.error('database-login-refused', `The database server refuses the login: ${why}.`, remedy);
  }
  notes.error('database-unreachable', `The database cannot be used: ${why}.`, `${letSpeak(error, why)} (${where}).`);
}

/** What to do so that the server takes sessions at all. */
function letSpeak(error: unknown, why: string): string {
  const [, name] = isDatabaseClosed(error) ? (/database (".*")/.exec(why) ?? []) : [];
  if (name) return `Run as an administrator: ALTER DATABASE ${name} ALLOW_CONNECTIONS true;`;
  if (/certificate|SSL|TLS/i.test(why))
    return "Correct the server's certificate or its setting `ssl`, or `sslmode` and `sslrootcert` of DATABASE_URL";
  if (/startup parameter/i.test(why))
    return 'Take the parameter out of DATABASE_URL, or name it in ignore_startup_parameters of PgBouncer';
  if (isPoolerRefusing(error))
    return 'PgBouncer answers, and refuses: correct its login or database at the server, max_client_conn, or pool_size, or the login or database of DATABASE_URL. Its log has the reason';
  return 'Start it, or correct DATABASE_URL';
}

/** What to do so that the server lets the user in. */
function letIn(error: unknown): string {
  if (isDatabaseMissing(error)) return 'Correct the name of the database in DATABASE_URL, for the service too.';
  if (isUserShutOut(error)) return 'Let the user in, by ALTER ROLE … LOGIN or pg_hba.conf, as the server says.';
  return 'Correct the user or password in DATABASE_URL, for the service too, unless the password has expired.';
}

/** What each key of a policy does to our queues: docs/runbook.md, "Policies that break the path". */
const HARM: Readonly<Record<string, string>> = {
  expires: 'deletes queues that nothing consumes, with their wake-ups',
  'message-ttl': 'deletes messages, or brings wake-ups early',
  'max-length': 'makes quorum queues refuse messages, and classic queues drop them',
  'max-length-bytes': 'makes quorum queues refuse messages, and classic queues drop them',
  'dead-letter-routing-key': 'sends wake-ups elsewhere, and takes the names of commands that are parked',
  'delivery-limit': 'parks messages that were returned that often, and deletes parked ones',
};

/**
 * Nothing returns the messages of delay queues, and only a lower limit than that of our work queues changes anything. The
 * parked queue dead-letters nothing.
 */
function isHarmed({ name }: ListedQueue, key: string, value: unknown, { delay, parked }: TopologyNames): boolean {
  if (key === 'dead-letter-routing-key') return name !== parked;
  if (key !== 'delivery-limit') return HARM[key] !== undefined;
  return !name.startsWith(delay) && typeof value === 'number' && value >= 0 && value < DELIVERY_LIMIT;
}

const POLICIES = 'docs/runbook.md, "Policies that break the path"';

const MANAGED = 'policies, dead letters, listeners, and alarms';

/** Looks at what only the HTTP API of the management plugin tells. */
class ManagementExamination {
  constructor(
    private readonly api: ManagementApi,
    private readonly names: TopologyNames,
    /** The exchange of the delay transport that brings wake-ups to the work queues. */
    private readonly delivers: string | undefined,
    private readonly notes: Notes,
  ) {}

  async run(): Promise<void> {
    const { notes } = this;
    const listed = await notes.examine(MANAGED, () => this.api.queues());
    if (!listed) return;
    const ours = listed.filter(({ name }) => name.startsWith(`${this.names.prefix}.`));
    this.policies(ours);
    this.unserved(ours);
    this.deadLetters(listed);
    await notes.examine('policies of exchanges', () => this.exchangePolicies());
    await notes.examine('listeners', () => this.listeners(listed));
    await notes.examine('bindings', () => this.bindings(listed));
    await notes.examine('alarms', () => this.alarms());
    await notes.examine('releases of the instances', () => this.releases());
  }

  /** Only instances consume these queues. */
  private async releases(): Promise<void> {
    const { commands, work } = this.names;
    const instances = await this.api.instancesOn((queue) => queue === commands || queue.startsWith(`${work}.`));
    for (const { host, release } of instances) noteRelease(this.notes, release, host, 'broker');
  }

  private policies(ours: readonly ListedQueue[]): void {
    const harmed = new Map<string, string[]>();
    for (const queue of ours) {
      const { name, policy, effective_policy_definition: definition } = queue;
      if (name === this.names.parked && 'delivery-limit' in (definition ?? {})) {
        this.notes.withdraw('parked-queue-arguments', 'x-delivery-limit');
      }
      for (const [key, value] of Object.entries(definition ?? {})) {
        if (!isHarmed(queue, key, value, this.names)) continue;
        const id = JSON.stringify([policy ?? 'operator policy', key]);
        harmed.set(id, [...(harmed.get(id) ?? []), name]);
      }
    }
    for (const [id, names] of harmed) {
      const [policy, key] = JSON.parse(id) as [string, string];
      const others = names.length > 1 ? ` and ${names.length - 1} more` : '';
      const seen = `The policy "${policy}" sets ${key} on ${names[0]}${others}: it ${HARM[key]}.`;
      this.notes.error('policy', seen, `Exclude the prefix from its pattern (${POLICIES}).`);
    }
  }

  private async exchangePolicies(): Promise<void> {
    const delayed = (await this.api.exchanges()).find(({ name }) => name === this.names.delayed);
    if (!delayed?.policy) return;
    const policy = (await this.api.policies()).find(({ name }) => name === delayed.policy);
    if (policy?.definition['alternate-exchange'] === undefined) return;
    const seen = `The policy "${policy.name}" sets alternate-exchange on ${delayed.name}: each wake-up is delivered twice.`;
    this.notes.error('policy', seen, `Exclude the prefix from its pattern (${POLICIES}).`);
  }

  /** Over AMQP, a quorum queue without its process looks like an empty one. */
  private unserved(ours: readonly ListedQueue[]): void {
    for (const { name } of ours.filter(({ leader }) => leader === null)) {
      const seen = `The quorum queue ${name} has no leader, so nothing goes into it or out of it.`;
      this.notes.error('queue-silent', seen, 'See docs/runbook.md, "A queue does not serve".');
    }
  }

  private deadLetters(queues: readonly ListedQueue[]): void {
    for (const { name, messages_dlx: stuck = 0 } of queues) {
      if (stuck === 0 || !name.startsWith(`${this.names.delay}`)) continue;
      const seen = `${stuck} expired messages of the queue ${name} wait to be dead-lettered.`;
      const remedy =
        'If that lasts for minutes, set dead_letter_worker_publisher_confirm_timeout on the broker, and restart the node (docs/runbook.md, "Restart with quorum queues").';
      this.notes.warning('dead-letters-wait', seen, remedy);
    }
  }

  private async listeners(queues: readonly ListedQueue[]): Promise<void> {
    if (queues.length === 0) return;
    const behind = await this.api.queuesBehind(this.names.events);
    this.notes.fact('queues bound to the events', behind.length);
    if (behind.length === 0) {
      const seen = `No queue is bound to the exchange ${this.names.events}, so the broker drops every event.`;
      const remedy = `Bind a queue of your listener to it, if you need the events (docs/amqp.md, "Events").`;
      return this.notes.warning('events-without-queue', seen, remedy);
    }
    for (const { name, messages, consumers } of queues.filter(({ name: each }) => behind.includes(each))) {
      if (consumers > 0 || messages === 0) continue;
      const seen = `The queue ${name} is bound to the events, holds ${messages}, and nothing consumes it.`;
      this.notes.warning('listener-without-consumer', seen, 'Start the listener, or delete its queue.');
    }
  }

  /** Of the work queues, and of the queues of commands and of parked messages, each behind the exchange of its name. */
  private async bindings(queues: readonly ListedQueue[]): Promise<void> {
    const { commands, parked, work } = this.names;
    for (const [id, queue, dropped] of [
      ['commands-unbound', commands, 'every command'],
      ['parked-unbound', parked, 'what it parks itself'],
    ] as const) {
      const isThere = queues.some(({ name }) => name === queue);
      if (!isThere || (await this.api.queuesBehind(queue)).includes(queue)) continue;
      const seen = `The queue ${queue} is not bound to the exchange ${queue}, so the broker drops ${dropped}.`;
      this.notes.error(id, seen, 'Restart one instance of the service, which binds it again.');
    }
    const ofWork = queues.filter(({ name }) => name.startsWith(`${work}.`));
    await this.unbound(work, ofWork);
    // A kind that nobody handles any more keeps its queue, and a new transport does not know it.
    const used = ofWork.filter(({ consumers }) => consumers > 0);
    if (this.delivers !== undefined) await this.unbound(this.delivers, used);
  }

  private async unbound(exchange: string, queues: readonly ListedQueue[]): Promise<void> {
    const bound = await this.api.queuesBehind(exchange);
    const unbound = queues.map(({ name }) => name).filter((name) => !bound.includes(name));
    if (unbound.length === 0) return;
    const seen = `Not bound to the exchange ${exchange}, so that their wake-ups are parked: ${unbound.join(', ')}.`;
    this.notes.error('work-unbound', seen, 'Restart one instance of the service, which binds them again.');
  }

  private async alarms(): Promise<void> {
    for (const { name, mem_alarm: memory, disk_free_alarm: disk } of await this.api.nodes()) {
      if (!memory && !disk) continue;
      const what = [memory ? 'memory' : '', disk ? 'disk' : ''].filter((each) => each !== '').join(' and ');
      const remedy = 'Free it on the node; until then the broker takes no messages.';
      this.notes.error('broker-alarm', `The node ${name} has an alarm: ${what}.`, remedy);
    }
  }
}

import {
  asksTheBroker,
  DelayedExchange,
  type DelayTransport,
  type DelayTransportSetting,
  isProbeable,
  Ladder,
  type LadderOptions,
  type ProbeResult,
  probeTransport,
} from '../../delay';
import {
  BrokerInspection,
  BrokerSilentError,
  LEAST_CHANNELS,
  type ChannelModel,
  expectedTopology,
  loginOf,
  type ExpectedExchange,
  type ExpectedQueue,
  permitCommand,
  quoted,
  type RabbitClient,
  readPrefixOwner,
} from '../../rabbit';
import { messageOf } from '../../errors';
import { onBroker } from './on-broker';
import { capitalized, type Notes } from './notes';

/** The first release with everything that the ladder needs. */
const OLDEST = [3, 10];
/** What a sentence about a denied right says if it depends on the routing key. */
const TOPIC = 'access to topic';
/** What it names if it is the exchange of answers to commands. */
const DEFAULT_EXCHANGE = "exchange 'amq.default'";
const CHANNEL_LIMIT = /number of channels .* limit/s;

/** Looks at the broker over AMQP. Changes nothing, except that a test message goes through the delay transport. */
export class BrokerExamination {
  /** What the broker refused our user, in its words. */
  private readonly refused = new Set<string>();

  constructor(
    private readonly deps: BrokerDependencies,
    private readonly notes: Notes,
  ) {}

  /** The one whose login the remedies name. */
  private get url(): URL {
    return new URL(this.deps.client.options.urls.at(-1) ?? '');
  }

  /** Undefined: the broker cannot be used. */
  async run(): Promise<UsableBroker | undefined> {
    return onBroker(this.deps.client, this.notes, (connection) => this.inspect(connection));
  }

  private async inspect(connection: ChannelModel): Promise<UsableBroker> {
    const { notes, deps } = this;
    // The examination that it ends does not always say why.
    connection.once('error', (error: unknown) => this.channels(messageOf(error)));
    this.agreed(connection);
    const inspection = new BrokerInspection(connection);
    notes.fact('broker', inspection.product);
    const isRabbit = inspection.product.startsWith('RabbitMQ');
    if (isRabbit) this.checkVersion(inspection.version);
    await this.examine('prefix', () => this.owner(connection));
    const isDeclared = (await this.examine('exchanges', () => this.exchanges(inspection))) ?? true;
    await this.examine('queues', () => this.queues(inspection));
    await this.examine('parked messages', () => this.parked(inspection));
    const transport = new TransportExamination(deps, notes, inspection, this.refused);
    await notes.examine('delay transport', () => transport.run(isDeclared));
    if (isRabbit) await this.examine('rights to publish', () => this.publishing(transport.exchanges));
    this.permissions();
    return { delivers: transport.delivers };
  }

  /** Without a right, an examination ends, and the finding says which one. */
  private examine<T>(what: string, examination: () => Promise<T>): Promise<T | undefined> {
    return this.notes.examine(what, () =>
      examination().catch((error: unknown) => {
        const refusal = refusalIn(error);
        if (refusal === undefined) throw error;
        this.refused.add(refusal);
        return undefined;
      }),
    );
  }

  /** As client and broker have agreed at the beginning of the connection. */
  private agreed(connection: ChannelModel): void {
    const { channelMax = 0 } = connection.connection as { readonly channelMax?: number };
    if (channelMax === 0 || channelMax >= LEAST_CHANNELS) return;
    const seen = `The broker lets a connection open ${channelMax} channels.`;
    const remedy = `Set channel_max in rabbitmq.conf to ${LEAST_CHANNELS} or more, and restart the broker.`;
    this.notes.error('broker-channels', seen, remedy);
  }

  private channels(why: string): void {
    if (!CHANNEL_LIMIT.test(why)) return;
    const { user } = loginOf(this.url);
    const remedy = `Raise the limit; each instance needs some twenty channels. This tells it: rabbitmqctl list_user_limits --user ${quoted(user)}`;
    this.notes.error('broker-channels', `The broker opens no more channels for us: ${why}.`, remedy);
  }

  /** What no question about an exchange tells: a service without this right publishes nothing. */
  private async publishing(ofTransport: readonly string[]): Promise<void> {
    const { client } = this.deps;
    const { exchanges } = expectedTopology(client.names, client.options.queueType, []);
    await client.onTemporaryConnection(async (connection) => {
      const inspection = new BrokerInspection(connection);
      for (const name of [...exchanges.map((exchange) => exchange.name), ...ofTransport, '']) {
        this.note(await inspection.publishRefusal(name));
      }
    });
  }

  private note(refusal: string | undefined): void {
    if (refusal !== undefined) this.refused.add(refusal);
  }

  private permissions(): void {
    const answers = [...this.refused].filter((each) => each.includes(DEFAULT_EXCHANGE));
    const topics = [...this.refused].filter((each) => each.includes(TOPIC));
    const others = [...this.refused].filter((each) => !answers.includes(each) && !topics.includes(each));
    const { url } = this;
    const shared = 'it replaces what else the user may do there: join patterns with |';
    const remedy = `Run: ${permitCommand(url, this.deps.client.names)} (${shared}; docs/security.md).`;
    if (topics.length > 0) {
      const { vhost, user } = loginOf(url);
      const command = `rabbitmqctl clear_topic_permissions -p ${quoted(vhost)} ${quoted(user)}`;
      const topicRemedy = `Run: ${command} (or set_topic_permissions with patterns that match the routing keys).`;
      this.notes.error('broker-permissions', `The broker refuses: ${topics.join('; ')}.`, topicRemedy);
    }
    if (others.length > 0) {
      const more = others.length > 3 ? `; and ${others.length - 3} more` : '';
      const seen = `The broker refuses: ${others.slice(0, 3).join('; ')}${more}.`;
      this.notes.error('broker-permissions', seen, remedy);
    }
    if (answers.length > 0) {
      const seen = `The broker refuses: ${answers.join('; ')}. So commands get no answers.`;
      this.notes.warning('broker-permissions', seen, remedy);
    }
  }

  private checkVersion(version: string): void {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
    if (Number.isNaN(major) || major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
    const seen = `The broker is RabbitMQ ${version}, and ${OLDEST.join('.')} is the oldest that is supported.`;
    this.notes.error('broker-version', seen, 'Upgrade the broker (README.md, "Requirements").');
  }

  private async owner(connection: ChannelModel): Promise<void> {
    const { databaseId, client } = this.deps;
    if (databaseId === undefined) return this.notes.skip('owner of the prefix', 'the id of the database is not known');
    const owner = await readPrefixOwner(connection, client.names, databaseId);
    if (owner.type !== 'other') return;
    const seen = `The prefix "${client.names.prefix}" belongs to the database ${owner.databaseId}, and this one is ${databaseId}.`;
    const remedy =
      'Give one of the services its own RABBITMQ_PREFIX or vhost (docs/runbook.md, "Two services on one prefix").';
    this.notes.error('prefix-shared', seen, remedy);
  }

  /** Returns whether the exchanges are there. */
  private async exchanges(inspection: BrokerInspection): Promise<boolean> {
    const { client } = this.deps;
    const { exchanges } = expectedTopology(client.names, client.options.queueType, []);
    const missing: string[] = [];
    for (const exchange of exchanges) {
      if (!(await inspection.hasExchange(exchange.name))) {
        missing.push(exchange.name);
        continue;
      }
      await compareExchange(this.notes, inspection, exchange);
    }
    if (missing.length === 0) return true;
    const seen = `The broker has no exchange ${missing.join(', ')}.`;
    const remedy =
      'Start an instance. One that runs declares them within a minute (docs/runbook.md, "Broker data gone").';
    this.notes.error('exchange-missing', seen, remedy);
    return false;
  }

  private async queues(inspection: BrokerInspection): Promise<void> {
    const { client, kinds, transport } = this.deps;
    const { queues } = expectedTopology(client.names, client.options.queueType, kinds);
    const work = transport === 'none' ? [] : kinds.map((kind) => client.names.workQueue(kind));
    const consumed = [...work, client.names.commands];
    for (const queue of [...queues, ...this.delayQueues])
      await this.inTime(queue.name, () => this.queue(inspection, queue));
    const missing: string[] = [];
    const idle: string[] = [];
    try {
      for (const name of consumed) await this.inTime(name, () => this.consumers(inspection, name, missing, idle));
    } finally {
      this.unconsumed(missing, idle);
    }
  }

  private unconsumed(missing: readonly string[], idle: readonly string[]): void {
    if (missing.length > 0) {
      const seen = `Queues are missing: ${missing.join(', ')}.`;
      this.notes.warning('queue-missing', seen, 'Start an instance: it declares them.');
    }
    if (idle.length === 0) return;
    const remedy =
      'If an error here is about the database, repair that first: instances do not consume without it. Otherwise, start an instance with handlers of these kinds, or see in its log why it does not consume, such as a limit of channels (docs/runbook.md, "A queue does not serve").';
    this.notes.warning('queue-without-consumer', `Nothing consumes ${idle.join(', ')}.`, remedy);
  }

  /** After the first silent queue, the others are not asked: if the broker is stuck, each would take as long. */
  private async inTime(name: string, question: () => Promise<void>): Promise<void> {
    await question().catch((error: unknown) => {
      if (!(error instanceof BrokerSilentError)) throw error;
      const seen = `The queue ${name} does not answer.`;
      this.notes.error('queue-silent', seen, 'See docs/runbook.md, "A queue does not serve".');
      throw error;
    });
  }

  /** Those of the ladder are declared only where it is used. */
  private get delayQueues(): ExpectedQueue[] {
    const { transport } = this.deps;
    return transport === 'none' || transport === 'delayed-exchange' ? [] : ladderOf(this.deps).queues;
  }

  private async queue(inspection: BrokerInspection, queue: ExpectedQueue): Promise<void> {
    if ((await inspection.queue(queue.name)) === undefined) return;
    const difference = await inspection.queueDifference(queue);
    if (difference === undefined) return;
    const { commands, parked } = this.deps.client.names;
    if (queue.name === parked) {
      const remedy = difference.includes('x-queue-type')
        ? `It is used as it is. To change it, work off what it holds, delete the queue ${parked}, and restart an instance.`
        : 'Set its delivery limit by a policy (docs/runbook.md, "Delivery limit of the parked queue").';
      return this.notes.warning('parked-queue-arguments', capitalized(difference), remedy);
    }
    const remedy =
      queue.name === commands
        ? `Nothing sends its commands again. Run the instances with the settings by which it was declared until it is empty and senders have stopped, or move its messages with a shovel. Then stop the instances, delete the queue ${commands}, and start them again.`
        : `Stop the instances, delete the queue ${queue.name}, and start them again. The sweep handles what was in it.`;
    this.notes.error('queue-arguments', capitalized(difference), remedy);
  }

  private async consumers(
    inspection: BrokerInspection,
    name: string,
    missing: string[],
    idle: string[],
  ): Promise<void> {
    const facts = await inspection.queue(name);
    if (!facts) return void missing.push(name);
    this.notes.fact(`queue ${name}`, `${facts.messages} messages, ${facts.consumers} consumers`);
    if (inspection.product.startsWith('RabbitMQ')) this.note(await inspection.consumeRefusal(name));
    if (facts.consumers === 0) idle.push(`${name} (${facts.messages} messages)`);
  }

  private async parked(inspection: BrokerInspection): Promise<void> {
    const { parked } = this.deps.client.names;
    const facts = await inspection.queue(parked);
    if (!facts) {
      const remedy = 'Restart an instance: it declares it. So does the next message that is parked.';
      return this.notes.warning('queue-missing', `The queue ${parked} is missing.`, remedy);
    }
    const { messages } = facts;
    if (messages === 0) return;
    const remedy = 'See why: order-timeout parked list messages (docs/runbook.md, "Parked messages").';
    this.notes.warning('parked-messages', `The queue ${parked} holds ${messages} messages.`, remedy);
  }
}

/** An exchange keeps the type and the arguments with which it was declared first. */
async function compareExchange(notes: Notes, inspection: BrokerInspection, wanted: ExpectedExchange): Promise<void> {
  const difference = await inspection.exchangeDifference(wanted);
  if (difference === undefined) return;
  const remedy = `Delete the exchange ${wanted.name}, restart an instance, which declares it again, and bind the queues of other programs to it again.`;
  notes.error('exchange-arguments', capitalized(difference), remedy);
}

const QUEUE_LIMIT =
  ', unless HORIZON_MS here is not that of the instances, or their log says "queue limit": then raise that of the vhost (rabbitmqctl list_vhost_limits), or lower LADDER_BASE';

/** Sends a message through the delay transport, and waits for it. */
class TransportExamination {
  /** The exchange that brings wake-ups to the work queues. Undefined: none, or it is not known which. */
  delivers: string | undefined;
  /** Those that the service publishes wake-ups to. */
  exchanges: readonly string[] = [];

  constructor(
    private readonly deps: BrokerDependencies,
    private readonly notes: Notes,
    private readonly inspection: BrokerInspection,
    /** Gathers what the broker refused our user. */
    private readonly refused: Set<string>,
  ) {}

  /** @param isDeclared whether the exchanges that every instance declares are there */
  async run(isDeclared: boolean): Promise<void> {
    const { transport, client, inUse } = this.deps;
    if (transport === 'none') return this.notes.fact('delay transport', 'none');
    if (!isDeclared) return this.notes.skip('delay transport', 'its exchanges are not declared');
    // Instances that have switched to the ladder stay on it for a while, whatever the broker has now.
    const asks = asksTheBroker(transport, client.options.urls) && (transport !== 'auto' || inUse !== 'ladder');
    if (asks) this.exchanges = [client.names.delayed];
    const plugin = asks ? await this.probe(new DelayedExchange(client.names), true) : undefined;
    if (plugin?.type === 'works') return this.archivedPlugin();
    if (plugin && (transport === 'delayed-exchange' || plugin.type === 'unknown')) return this.pluginFinding(plugin);
    if (plugin && inUse === 'delayed-exchange') return this.lostPlugin();
    this.notes.fact('delay transport', 'ladder');
    const ladder = ladderOf(this.deps);
    this.exchanges = ladder.exchanges;
    await this.ladder(ladder);
  }

  private lostPlugin(): void {
    const seen = 'The broker has lost the delayed-message plugin, which the instances use.';
    const remedy =
      'Enable it again on every node, or wait: they switch to the ladder within a minute (docs/runbook.md, "Delayed-message plugin disabled or upgraded").';
    this.notes.warning('delayed-exchange-missing', seen, remedy);
  }

  private archivedPlugin(): void {
    this.notes.fact('delay transport', 'delayed-exchange');
    this.delivers = this.deps.client.names.delayed;
    const seen = 'Wake-ups wait in the delayed-message plugin, which is archived and does not run on RabbitMQ 4.3.';
    const remedy =
      'Before you upgrade the broker to 4.3, set DELAY_TRANSPORT=ladder (docs/runbook.md, "Upgrade to RabbitMQ 4.3").';
    this.notes.warning('delayed-exchange-archived', seen, remedy);
  }

  private async ladder(ladder: Ladder): Promise<void> {
    const missing: string[] = [];
    const like = { type: 'topic', alternateExchange: this.deps.client.names.parked } as const;
    for (const name of ladder.exchanges) {
      if (!(await this.inspection.hasExchange(name))) missing.push(name);
      else await compareExchange(this.notes, this.inspection, { name, ...like });
    }
    if (missing.length > 0) return this.missing(missing);
    const lost: string[] = [];
    for (const { name } of ladder.queues) if (!(await this.inspection.queue(name))) lost.push(name);
    if (lost.length > 0) return this.lost(lost);
    this.delivers = ladder.delivery;
    if (!isProbeable(ladder)) return this.notes.skip('a message through the ladder', 'one unit is longer than 10 s');
    const result = await this.probe(ladder, false);
    if (result.type !== 'works') this.pathFinding(result);
  }

  /** At-least-once dead-lettering without its exchange stalls, and holds up everything behind it. */
  private missing(names: readonly string[]): void {
    const seen = `The ladder lacks the exchange ${names.join(', ')}, so wake-ups that wait in it stall.`;
    const remedy = `Restart an instance: it declares the ladder again${QUEUE_LIMIT} (docs/runbook.md, "Wake-ups are missed").`;
    this.notes.error('dead-letters-stall', seen, remedy);
  }

  private lost(names: readonly string[]): void {
    const seen = `The ladder lacks ${names.length} of its queues (the first is ${names[0]}), so wake-ups do not wait, and the sweep takes over.`;
    const remedy = `Restart an instance: it declares the ladder again${QUEUE_LIMIT}. If they are gone again, look for a policy with "expires": rabbitmqctl list_policies (docs/runbook.md, "Policies that break the path").`;
    this.notes.error('message-path', seen, remedy);
  }

  /** @param declares whether the transport is declared first, which tells whether the broker knows its type */
  private probe(transport: DelayTransport, declares: boolean): Promise<ProbeResult> {
    const { client, probeMs } = this.deps;
    const prepare = declares ? {} : { prepare: async () => undefined };
    const options = { prefix: client.names.prefix, timeoutMs: probeMs, ...prepare };
    return probeTransport(() => client.temporaryConnection(), transport, options);
  }

  private pluginFinding(probe: Exclude<ProbeResult, { type: 'works' }>): void {
    const where = 'docs/runbook.md, "Delayed-message plugin disabled or upgraded"';
    switch (probe.type) {
      case 'absent':
        return this.notes.error(
          'delayed-exchange-missing',
          'DELAY_TRANSPORT is delayed-exchange, and the broker does not know the exchange type x-delayed-message.',
          `Enable the plugin on every node, or set DELAY_TRANSPORT=auto (${where}).`,
        );
      case 'unusable':
        return this.notes.error(
          'delayed-exchange-unusable',
          `The delayed exchange does not work: ${probe.reason}.`,
          `Disable and enable the plugin, or set DELAY_TRANSPORT=ladder (${where}).`,
        );
      case 'unknown':
        return this.pathFinding(probe);
    }
  }

  private pathFinding(probe: Exclude<ProbeResult, { type: 'works' }>): void {
    const reason = 'reason' in probe ? probe.reason : 'the broker does not know its exchange type';
    const refusal = refusalIn(reason);
    if (refusal !== undefined) return void this.refused.add(refusal);
    if (reason.includes('alarm')) {
      const remedy =
        'Free memory or disk on the broker; until then it takes no messages. This tells which: rabbitmq-diagnostics alarms';
      return this.notes.error('broker-alarm', `The broker is blocked: ${reason}.`, remedy);
    }
    const remedy = 'See docs/runbook.md, "Wake-ups are missed"; the sweep handles timeouts until then.';
    this.notes.error('message-path', `A message does not get through the delay transport: ${reason}.`, remedy);
  }
}

export function ladderOf({ client, ladder, horizonMs }: BrokerDependencies): Ladder {
  return new Ladder(client.names, { ...ladder, horizonMs, queueType: client.options.queueType });
}

export type UsableBroker = Pick<TransportExamination, 'delivers'>;

export interface BrokerDependencies {
  /** Not started: it only opens connections. */
  readonly client: RabbitClient;
  /** Kinds whose wake-ups need a work queue. */
  readonly kinds: readonly string[];
  /** Id of the database; undefined: unknown. */
  readonly databaseId: string | undefined;
  readonly transport: DelayTransportSetting;
  /** What the instances have chosen. Undefined: nothing yet, or it is unknown. */
  readonly inUse: string | undefined;
  readonly ladder: Pick<LadderOptions, 'base' | 'unitMs'>;
  readonly horizonMs: number;
  /** How long a message may take beyond its delay, milliseconds. */
  readonly probeMs: number;
}

/** Which right is lacking, in the broker's words. */
function refusalIn(error: unknown): string | undefined {
  return /ACCESS_REFUSED - ([^"]*)/.exec(error instanceof Error ? error.message : String(error))?.[1];
}

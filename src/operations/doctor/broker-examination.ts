import { Ladder } from '../../delay';
import {
  BrokerInspection,
  BrokerLoginRefusedError,
  type ChannelModel,
  expectedTopology,
  type ExpectedQueue,
  readPrefixOwner,
} from '../../rabbit';
import { type BrokerDependencies } from './broker-dependencies';
import { type Notes } from './notes';
import { TransportExamination } from './transport-examination';

/** The first release with everything that the ladder needs. */
const OLDEST = [3, 10];

/** Looks at the broker over AMQP. Changes nothing, except that a test message goes through the delay transport. */
export class BrokerExamination {
  constructor(
    private readonly deps: BrokerDependencies,
    private readonly notes: Notes,
  ) {}

  /** Returns whether the broker can be used. */
  async run(): Promise<boolean> {
    const connection = await this.connect();
    if (!connection) return false;
    try {
      await this.inspect(connection);
    } finally {
      await connection.close().catch(() => undefined);
    }
    return true;
  }

  private async connect(): Promise<ChannelModel | undefined> {
    const { client } = this.deps;
    try {
      return await client.temporaryConnection();
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      const refusal = BrokerLoginRefusedError.from(failure, client.options.urls.at(-1));
      if (refusal) {
        const [seen = '', remedy = ''] = refusal.message.replace(/^.*?: /, '').split('; ');
        this.notes.error(
          'broker-login-refused',
          capitalized(`${seen}.`),
          capitalized(remedy.replace(/\. Until.*/, '.')),
        );
      } else {
        const hosts = client.options.urls.map((url) => new URL(url).host).join(', ');
        const why = failure.message || String((failure as { code?: unknown }).code);
        const remedy =
          'Start it, or correct RABBITMQ_URLS. Until then the sweep handles timeouts (docs/runbook.md, "The message path is down").';
        this.notes.error('broker-unreachable', `No broker answers at ${hosts} (${why}).`, remedy);
      }
      this.notes.skip('queues and exchanges', 'no connection to the broker');
      return undefined;
    }
  }

  private async inspect(connection: ChannelModel): Promise<void> {
    const { notes, deps } = this;
    const inspection = new BrokerInspection(connection);
    notes.fact('broker', inspection.product);
    if (inspection.product.startsWith('RabbitMQ')) this.checkVersion(inspection.version);
    await notes.examine('prefix', () => this.owner(connection));
    let isDeclared = true;
    await notes.examine('exchanges', async () => {
      isDeclared = await this.exchanges(inspection);
    });
    await notes.examine('queues', () => this.queues(inspection));
    await notes.examine('parked messages', () => this.parked(inspection));
    const transport = new TransportExamination(deps, notes, inspection);
    await notes.examine('delay transport', () => transport.run(isDeclared));
  }

  private checkVersion(version: string): void {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
    if (Number.isNaN(major) || major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
    const seen = `The broker is RabbitMQ ${version}, and ${OLDEST.join('.')} is the oldest that is supported.`;
    this.notes.error('broker-version', seen, 'Upgrade the broker (docs/broker-matrix.md).');
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
      const difference = await inspection.exchangeDifference(exchange);
      if (difference !== undefined) {
        const remedy = `Delete the exchange ${exchange.name}; the service declares it again within a minute.`;
        this.notes.error('exchange-arguments', capitalized(difference), remedy);
      }
    }
    if (missing.length === 0) return true;
    const seen = `The broker has no exchange ${missing.join(', ')}.`;
    const remedy = 'Start an instance, or restart one: it declares them (docs/runbook.md, "Broker data gone").';
    this.notes.error('exchange-missing', seen, remedy);
    return false;
  }

  private async queues(inspection: BrokerInspection): Promise<void> {
    const { client, kinds } = this.deps;
    const { queues } = expectedTopology(client.names, client.options.queueType, kinds);
    for (const queue of [...queues, ...this.delayQueues]) await this.queue(inspection, queue);
    for (const kind of kinds) await this.consumers(inspection, client.names.workQueue(kind));
    await this.consumers(inspection, client.names.commands);
  }

  /** Those of the ladder are declared only where it is used. */
  private get delayQueues(): ExpectedQueue[] {
    const { client, transport, ladder, horizonMs } = this.deps;
    if (transport === 'none' || transport === 'delayed-exchange') return [];
    return new Ladder(client.names, { ...ladder, horizonMs, queueType: client.options.queueType }).queues;
  }

  private async queue(inspection: BrokerInspection, queue: ExpectedQueue): Promise<void> {
    if ((await inspection.queue(queue.name)) === undefined) return;
    const difference = await inspection.queueDifference(queue);
    if (difference === undefined) return;
    if (queue.name === this.deps.client.names.parked) {
      const remedy = 'Set its delivery limit by a policy (docs/runbook.md, "Delivery limit of the parked queue").';
      return this.notes.warning('parked-queue-arguments', capitalized(difference), remedy);
    }
    const remedy = `Stop the instances, empty and delete the queue ${queue.name}, and start them again.`;
    this.notes.error('queue-arguments', capitalized(difference), remedy);
  }

  private async consumers(inspection: BrokerInspection, name: string): Promise<void> {
    const facts = await inspection.queue(name);
    if (!facts) {
      const seen = `The queue ${name} does not exist.`;
      return this.notes.warning('queue-missing', seen, 'Start an instance: it declares the queue.');
    }
    this.notes.fact(`queue ${name}`, `${facts.messages} messages, ${facts.consumers} consumers`);
    if (facts.consumers > 0) return;
    const seen = `Nothing consumes the queue ${name} (${facts.messages} messages).`;
    const remedy =
      'Start an instance with a handler of this kind, or see why it does not consume (docs/runbook.md, "A queue does not serve").';
    this.notes.warning('queue-without-consumer', seen, remedy);
  }

  private async parked(inspection: BrokerInspection): Promise<void> {
    const { parked } = this.deps.client.names;
    const { messages = 0 } = (await inspection.queue(parked)) ?? {};
    if (messages === 0) return;
    const remedy = 'See why: order-timeout parked list messages (docs/runbook.md, "Parked messages").';
    this.notes.warning('parked-messages', `The queue ${parked} holds ${messages} messages.`, remedy);
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

import { type ListedQueue, type ManagementApi, type TopologyNames } from '../../rabbit';
import { noteRelease, type Notes } from './notes';

/** What each key of a policy does to our queues: docs/runbook.md, "Policies that break the path". */
const HARM: Readonly<Record<string, string>> = {
  expires: 'deletes queues that nothing consumes, with their wake-ups',
  'message-ttl': 'deletes messages, or brings wake-ups early',
  'max-length': 'makes quorum queues refuse messages, and classic queues drop them',
  'max-length-bytes': 'makes quorum queues refuse messages, and classic queues drop them',
};
const POLICIES = 'docs/runbook.md, "Policies that break the path"';

/** Looks at what only the HTTP API of the management plugin tells. */
export class ManagementExamination {
  constructor(
    private readonly api: ManagementApi,
    private readonly names: TopologyNames,
    private readonly notes: Notes,
  ) {}

  async run(): Promise<void> {
    const { notes } = this;
    let queues: ListedQueue[] | undefined;
    await notes.examine('policies, dead letters, listeners, and alarms', async () => {
      queues = await this.api.queues();
    });
    if (!queues) return;
    const listed = queues;
    this.policies(listed.filter(({ name }) => name.startsWith(`${this.names.prefix}.`)));
    this.deadLetters(listed);
    await notes.examine('policies of exchanges', () => this.exchangePolicies());
    await notes.examine('listeners', () => this.listeners(listed));
    await notes.examine('alarms', () => this.alarms());
    await notes.examine('releases of the instances', () => this.releases());
  }

  /** Only instances consume these queues. */
  private async releases(): Promise<void> {
    const { commands, work } = this.names;
    const instances = await this.api.consumersOf((queue) => queue === commands || queue.startsWith(`${work}.`));
    for (const { host, release } of instances) noteRelease(this.notes, release, host, 'broker');
  }

  private policies(ours: readonly ListedQueue[]): void {
    const harmed = new Map<string, string[]>();
    for (const { name, policy, effective_policy_definition: definition } of ours) {
      for (const key of Object.keys(definition ?? {}).filter((one) => HARM[one] !== undefined)) {
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

  private async alarms(): Promise<void> {
    for (const { name, mem_alarm: memory, disk_free_alarm: disk } of await this.api.nodes()) {
      if (!memory && !disk) continue;
      const what = [memory ? 'memory' : '', disk ? 'disk' : ''].filter((each) => each !== '').join(' and ');
      const remedy = 'Free it on the node; until then the broker takes no messages.';
      this.notes.error('broker-alarm', `The node ${name} has an alarm: ${what}.`, remedy);
    }
  }
}

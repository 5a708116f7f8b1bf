import {
  asksTheBroker,
  DelayedExchange,
  type DelayTransport,
  isProbeable,
  Ladder,
  type ProbeResult,
  probeTransport,
} from '../../delay';
import { type BrokerInspection, servicePermissions } from '../../rabbit';
import { type BrokerDependencies } from './broker-dependencies';
import { type Notes } from './notes';

/** Sends a message through the delay transport, and waits for it. */
export class TransportExamination {
  constructor(
    private readonly deps: BrokerDependencies,
    private readonly notes: Notes,
    private readonly inspection: BrokerInspection,
  ) {}

  /** @param isDeclared whether the exchanges that every instance declares are there */
  async run(isDeclared: boolean): Promise<void> {
    const { transport, client } = this.deps;
    if (transport === 'none') return this.notes.fact('delay transport', 'none');
    if (!isDeclared) return this.notes.skip('delay transport', 'its exchanges are not declared');
    const asks = asksTheBroker(transport, client.options.urls);
    const plugin = asks ? await this.probe(new DelayedExchange(client.names), true) : undefined;
    if (plugin?.type === 'works') return this.notes.fact('delay transport', 'delayed-exchange');
    if (plugin && (transport === 'delayed-exchange' || plugin.type === 'unknown')) return this.pluginFinding(plugin);
    this.notes.fact('delay transport', 'ladder');
    await this.ladder();
  }

  private async ladder(): Promise<void> {
    const { client, ladder: options, horizonMs } = this.deps;
    const ladder = new Ladder(client.names, { ...options, horizonMs, queueType: client.options.queueType });
    const missing: string[] = [];
    for (const name of ladder.exchanges) if (!(await this.inspection.hasExchange(name))) missing.push(name);
    if (missing.length > 0) return this.missing(missing);
    if (!isProbeable(ladder)) return this.notes.skip('a message through the ladder', 'one unit is longer than 10 s');
    const result = await this.probe(ladder, false);
    if (result.type !== 'works') this.pathFinding(result);
  }

  /** At-least-once dead-lettering without its exchange stalls, and holds up everything behind it. */
  private missing(names: readonly string[]): void {
    const seen = `The ladder lacks the exchange ${names.join(', ')}, so wake-ups that wait in it stall.`;
    const remedy = 'Restart an instance: it declares the ladder again (docs/runbook.md, "Wake-ups are missed").';
    this.notes.error('dead-letters-stall', seen, remedy);
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
    const refused = /ACCESS_REFUSED - ([^"]*)/.exec(reason)?.[1];
    if (refused !== undefined) {
      const { configure, write, read } = servicePermissions(this.deps.client.names);
      const remedy = `Run: rabbitmqctl set_permissions -p VHOST USER '${configure}' '${write}' '${read}' (docs/security.md).`;
      return this.notes.error('broker-permissions', `The broker refuses: ${refused}.`, remedy);
    }
    if (reason.includes('alarm')) {
      const remedy =
        'Free memory or disk on the broker; until then it takes no messages (rabbitmqctl list_alarms is empty again).';
      return this.notes.error('broker-alarm', `The broker is blocked: ${reason}.`, remedy);
    }
    const remedy = 'See docs/runbook.md, "Wake-ups are missed"; the sweep handles timeouts until then.';
    this.notes.error('message-path', `A message does not get through the delay transport: ${reason}.`, remedy);
  }
}

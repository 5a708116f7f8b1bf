import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DoctorReport } from '../../src/operations';
import { Random } from '../support/buyers/random';
import { runJson } from '../support/command-line';
import { hasHistory } from '../support/previous-release';
import { SmallDisk } from '../support/servers/small-disk';
import { type CampaignTransport } from './campaign/campaign-options';
import { FAULT_KINDS, type FaultKind } from './campaign/faults/fault-kind';
import { FaultLog } from './campaign/faults/fault-log';
import { FAULTS } from './campaign/faults/inject';
import { openStage, type Stage } from './campaign/stage/open-stage';
import { SERVICE_LOGIN } from './campaign/stage/service-login';
import { BrokerLink } from './campaign/stream/broker-link';
import { driveStream, openShop } from './campaign/stream/drive-stream';

/** What a fault of the campaign leaves broken for as long as it lasts. */
interface State {
  /** Which of its forms: each choice is drawn as the first or the last one. @default 'first' */
  readonly form?: 'first' | 'last';
  /** How long it lasts, where it has a length. @default 10_000 */
  readonly ms?: number;
  /** It stays until a person acts, and the fault is over at once. */
  readonly stays?: true;
  /** Ids of the findings that name the cause; any of them. */
  readonly finds: readonly string[];
}

/** Nobody can look before it is over, or the others go on as if nothing were. */
const PASSES = 'passes';

/** The doctor calls timeouts overdue after 30 s. */
const OVERDUE_MS = 60_000;

/** And a provider failing 10 s after an order needed its answer. */
const PROVIDER_MS = 35_000;

const DIAGNOSES: Readonly<Record<FaultKind, readonly State[] | typeof PASSES>> = {
  'kill-instance': [{ finds: ['queue-without-consumer'] }],
  'crash-point': [{ finds: ['queue-without-consumer'] }],
  'freeze-short': PASSES,
  'freeze-beyond-lease': PASSES,
  'freeze-long': [{ ms: OVERDUE_MS, finds: ['timeouts-overdue', 'queue-without-consumer'] }],
  'terminate-backends': PASSES,
  'kill-database': [{ finds: ['database-unreachable'] }],
  'restart-database': PASSES,
  'long-transaction': [
    { form: 'first', finds: ['rows-locked', 'old-transaction'] },
    { form: 'last', finds: ['old-transaction'] },
  ],
  'kill-broker': [{ finds: ['broker-unreachable'] }],
  'restart-broker': PASSES,
  'purge-queue': PASSES,
  'delete-work-queue': PASSES,
  'delete-delay-exchange': PASSES,
  'channel-error': PASSES,
  'disk-alarm': [{ finds: ['broker-alarm'] }],
  'memory-alarm': [{ finds: ['broker-alarm'] }],
  'half-open-database': [{ finds: ['database-unreachable'] }],
  'half-open-broker': [{ finds: ['broker-unreachable'] }],
  'half-open-provider': [{ ms: PROVIDER_MS, finds: ['provider-failing'] }],
  'cut-database': PASSES,
  'cut-broker': PASSES,
  'silent-database-connection': PASSES,
  'silent-broker-connection': PASSES,
  'provider-hangs': [{ form: 'first', ms: PROVIDER_MS, finds: ['provider-failing'] }],
  'provider-errors': [
    { form: 'first', ms: PROVIDER_MS, finds: ['provider-failing'] },
    { form: 'last', ms: PROVIDER_MS, finds: ['provider-failing'] },
  ],
  'provider-lies': [{ form: 'first', ms: PROVIDER_MS, finds: ['provider-failing'] }],
  // Of one process: deadlines are read from the clock of the database.
  'clock-jump': PASSES,
  'lock-a-stock-row': [{ finds: ['rows-locked'] }],
  'read-only-failover': [{ finds: ['database-read-only'] }],
  'suspend-one-queue': [
    { form: 'first', finds: ['queue-silent'] },
    // Its process says nothing, and RabbitMQ answers for it that it is empty.
    { form: 'last', finds: ['queue-without-consumer'] },
  ],
  // Another run has each timeout after ten seconds.
  'hang-a-handler': PASSES,
  'oversized-event': [
    { form: 'first', stays: true, finds: ['outbox-parked'] },
    { form: 'last', stays: true, finds: ['outbox-parked'] },
  ],
  'long-snapshot': [{ finds: ['old-transaction'] }],
  'promote-standby': [{ finds: ['standby-missing'] }],
  'two-releases': [{ ms: 20_000, finds: ['older-instance'] }],
  'empty-broker': PASSES,
  'path-that-drops': [
    { form: 'first', finds: ['work-unbound'] },
    // The policy that deleted its queues has none left to be seen on, so the remedy tells where to look.
    { form: 'last', ms: 30_000, finds: ['message-path'] },
  ],
  'connection-killing-publish': [{ finds: ['delayed-exchange-unusable'] }],
  'refused-logins': [{ finds: ['database-login-refused'] }],
  'connection-limit': [{ finds: ['database-connections'] }],
  'missing-right': [
    { form: 'first', finds: ['database-rights'] },
    { form: 'last', finds: ['database-refuses-writes'] },
  ],
  'missing-permissions': [{ finds: ['broker-permissions'] }],
  'hasty-policy': [
    { form: 'first', finds: ['policy'] },
    { form: 'last', finds: ['policy'] },
  ],
  'full-disk': [{ finds: ['database-disk-full'] }],
};

const LASTS_MS = 10_000;
/** Shorter lengths are pauses between steps, and numbers of things. */
const LENGTH_MS = 2_000;
const LIMIT_MS = 240_000;
const RECOVERY_MS = 120_000;
const RATE = 4;

/** Makes the fault last, in one of its forms. */
class Chosen extends Random {
  constructor(private readonly wanted: State) {
    super(0);
  }

  override next(): number {
    return this.wanted.form === 'last' ? 0.99 : 0;
  }

  override between(min: number, max: number): number {
    if (max >= LENGTH_MS) return this.wanted.ms ?? LASTS_MS;
    return this.wanted.form === 'last' ? max : min;
  }
}

interface Setting {
  readonly transport: CampaignTransport;
  readonly hasStandby: boolean;
  readonly kinds: readonly FaultKind[];
}

const PLUGIN_ONLY: readonly FaultKind[] = ['connection-killing-publish'];
const STANDBY_ONLY: readonly FaultKind[] = ['promote-standby'];
const isPossible = (kind: FaultKind): boolean =>
  (kind !== 'full-disk' || SmallDisk.isPossible()) && (kind !== 'two-releases' || hasHistory());

describe.each<Setting>([
  {
    transport: 'ladder',
    hasStandby: false,
    kinds: FAULT_KINDS.filter((kind) => ![...PLUGIN_ONLY, ...STANDBY_ONLY].includes(kind)),
  },
  { transport: 'delayed-exchange', hasStandby: false, kinds: [...PLUGIN_ONLY, 'path-that-drops'] },
  { transport: 'ladder', hasStandby: true, kinds: STANDBY_ONLY },
])('the doctor on $transport (standby: $hasStandby) names the cause of', ({ transport, hasStandby, kinds }) => {
  const ending = new AbortController();
  const { signal } = ending;
  // Every buyer of the stream waits on it.
  setMaxListeners(0, signal);
  const log = new FaultLog();
  let stage: Stage;
  let link: BrokerLink;
  let streaming: Promise<unknown> = Promise.resolve();

  beforeAll(async () => {
    stage = await openStage({
      ...{ transport, hasStandby, instances: 1, isBrokerDead: false, usesPgbouncer: false, keepsLogs: false },
      ...{ hasSmallDisk: !hasStandby && SmallDisk.isPossible(), patches: [], environment: {}, signal },
    });
    // Or the sessions of others are hidden from it (docs/cli.md).
    await stage.database.query(`GRANT pg_read_all_stats TO ${SERVICE_LOGIN.username}`);
    link = new BrokerLink({ ...stage, url: stage.amqpUrl, seen: () => undefined });
    const shop = await openShop(stage, signal);
    const { simulator } = stage;
    const stream = { seed: 1, orders: 1_000_000, rate: RATE, shop, link, simulator, signal, isBrokerDead: false };
    // It only keeps the service at work.
    streaming = driveStream({ ...stream, faults: new Promise(() => undefined) }).catch(() => undefined);
  }, LIMIT_MS);

  afterAll(async () => {
    ending.abort();
    await streaming;
    await link.close();
    await stage.close();
  }, LIMIT_MS);

  const examine = async (): Promise<DoctorReport> => {
    const environment = { ...stage.environment, RABBITMQ_MANAGEMENT_URL: stage.broker.managementUrl };
    return runJson<DoctorReport>(environment, 'doctor', '--transaction-age', '5s');
  };

  const cases = kinds.flatMap((kind) => {
    const states = DIAGNOSES[kind];
    // Of the ladder's queues alone.
    const isPlugins = ({ form }: State): boolean => transport === 'ladder' || form !== 'last';
    return states === PASSES ? [] : states.filter(isPlugins).map((state) => ({ ...state, kind }));
  });

  for (const { kind, form = 'first', ...state } of cases) {
    (isPossible(kind) ? it : it.skip)(
      `${kind} (${form}), with a remedy, and is content when it is over`,
      async () => {
        const entry = log.begin(kind, '');
        let isOver = false;
        const fault = FAULTS[kind]({ stage, link, signal }, new Chosen({ ...state, form }), entry).finally(
          () => (isOver = true),
        );
        const seen: string[] = [];
        const isNamed = (report: DoctorReport): boolean => {
          seen.push(...report.findings.map(({ id, seen: what }) => `${id}: ${what}`));
          return report.findings.some(({ id, remedy }) => state.finds.includes(id) && remedy !== '');
        };
        let hasNamed = false;
        const endsAt = performance.now() + (state.stays ? RECOVERY_MS : 0);
        while ((!isOver || performance.now() < endsAt) && !hasNamed) hasNamed = isNamed(await examine());
        await fault;
        expect({ hasNamed, says: entry.says, seen: hasNamed ? [] : [...new Set(seen)] }).toEqual({
          ...{ hasNamed: true, says: entry.says, seen: [] },
        });
        await recover(kind);
        const recoversBy = performance.now() + RECOVERY_MS;
        let last = await examine();
        while (isNamed(last) && performance.now() < recoversBy) {
          await sleep(1_000);
          last = await examine();
        }
        expect(last.findings.filter(({ id }) => state.finds.includes(id))).toEqual([]);
      },
      LIMIT_MS,
    );
  }

  /** What stays until a person acts, as the remedy says. */
  async function recover(kind: FaultKind): Promise<void> {
    if (kind === 'oversized-event')
      await stage.database.query('DELETE FROM order_timeout.outbox WHERE parked_reason IS NOT NULL');
  }
});

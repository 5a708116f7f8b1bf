import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SmallDisk } from '../../support/servers/small-disk';
import { hasHistory } from '../../support/previous-release';
import { BARE_POOL } from './build/bare-pool';
import { type Patch } from './build/patch';
import { type CampaignOptions } from './campaign-options';
import { checkRun, type Findings } from './checks/check-run';
import { eventsInOutbox } from './checks/events-in-outbox';
import { MachineLoad } from '../../support/machine-load';
import { untilDrained } from './checks/until-drained';
import { type FaultKind } from './faults/fault-kind';
import { FaultLog } from './faults/fault-log';
import { injectFaults } from './faults/inject';
import { type FaultWish, planFaults } from './faults/plan-faults';
import { WAKE_UP_KINDS, workQueue } from './stage/broker-names';
import { ladderQueues } from './stage/ladder-names';
import { openStage, type Stage } from './stage/open-stage';
import { BrokerLink } from './stream/broker-link';
import { driveStream, openShop, type StreamResult } from './stream/drive-stream';
import { EventRecord } from './stream/event-record';

/** One campaign: its options, and what a trial changes. */
export interface Run {
  readonly options: CampaignOptions;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly patches?: readonly Patch[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Only these faults. */
  readonly kinds?: readonly FaultKind[];
  /** How long all may take to end after the last fault. */
  readonly drainMs?: number;
}

/** What became of it. */
export interface CampaignResult extends Findings {
  readonly log: FaultLog;
  readonly events: EventRecord;
  readonly load: MachineLoad;
  /** What was still open when the patience ended. */
  readonly left: string | undefined;
  readonly tookMs: number;
  readonly drainMs: number;
}

/** Leases, repetitions of questions, the sweep, the watch after the end, and a pause of commands of up to a minute. */
const DRAIN_MS = 180_000;
const SAY_EVERY_MS = 15_000;

/** Runs the stream and the faults side by side, waits until all is quiet, and looks at what is left. */
export async function runCampaign(run: Run): Promise<CampaignResult> {
  const { options, signal, say } = run;
  const beganAt = performance.now();
  const { transport, queueType, instances, isBrokerDead, keepsLogs, usesPgbouncer } = options;
  const patches = [...(options.hasBarePool ? [BARE_POOL] : []), ...(run.patches ?? [])];
  const servers = { hasStandby: hasStandby(run), hasSmallDisk: hasSmallDisk(run) };
  const changes = {
    patches,
    environment: { RABBITMQ_QUEUE_TYPE: queueType, ...run.environment },
    ...servers,
    usesPgbouncer,
  };
  const stage = await openStage({ transport, instances, isBrokerDead, keepsLogs, ...changes, signal });
  const events = new EventRecord();
  const load = new MachineLoad();
  load.start();
  const link = new BrokerLink({ ...stage, url: stage.amqpUrl, seen: (event) => events.take(event) });
  try {
    say(`${instances} instances run after ${seconds(beganAt)}; ${stage.folder}`);
    const log = new FaultLog();
    const stream = await play(run, { stage, servers, link, log, events });
    say(`the last fault is over and every order placed after ${seconds(beganAt)}`);
    const drainedFrom = performance.now();
    const left = await untilDrained(stage, events, {
      ...{ limitMs: run.drainMs ?? DRAIN_MS, hasBroker: !isBrokerDead, signal },
      missing: () => missingOf(stage, stream),
      mend: () => deleteUnserved(stage, say),
    });
    const drainMs = performance.now() - drainedFrom;
    if (isBrokerDead) for (const event of await eventsInOutbox(stage.database)) events.take(event);
    // Shows in the logs what happened when.
    writeFileSync(join(stage.folder, 'faults.json'), JSON.stringify(log.faults, null, 1));
    const findings = await checkRun({ ...options, stage, stream, events, log, load });
    writeFileSync(join(stage.folder, 'excused.json'), JSON.stringify(findings.excused, null, 1));
    return { ...findings, log, events, load, left, drainMs, tookMs: performance.now() - beganAt };
  } finally {
    load.stop();
    await link.close();
    // The result is worth more than what is left behind.
    await stage.close().catch((error: unknown) => say(String(error)));
  }
}

/** Where a fault of the plan needs one. PgBouncer goes to one server, and a pool without our client knows but one. */
function hasStandby({ options, kinds = options.only }: Run): boolean {
  const { faults, usesPgbouncer, hasBarePool } = options;
  return faults > 0 && !usesPgbouncer && !hasBarePool && (kinds ?? ['promote-standby']).includes('promote-standby');
}

function hasSmallDisk(run: Run): boolean {
  const { options, kinds = options.only } = run;
  return (
    options.faults > 0 && !hasStandby(run) && (kinds ?? ['full-disk']).includes('full-disk') && SmallDisk.isPossible()
  );
}

interface Playing {
  readonly stage: Stage;
  readonly servers: Pick<FaultWish, 'hasStandby' | 'hasSmallDisk'>;
  readonly link: BrokerLink;
  readonly log: FaultLog;
  readonly events: EventRecord;
}

async function play(run: Run, playing: Playing): Promise<StreamResult> {
  const { options, kinds, signal, say } = run;
  const { stage, servers, link, log, events } = playing;
  const { seed, orders, rate, faults: count, transport, areApart } = options;
  const shop = await openShop(stage, signal);
  const durationMs = (orders / rate) * 1_000;
  const plan = planFaults(seed, {
    ...{ count, durationMs, transport, areApart, kinds: kinds ?? options.only },
    ...servers,
    hasPreviousRelease: hasHistory(),
  });
  const beganAt = performance.now();
  const progress = setInterval(() => {
    const memory = Math.round(process.memoryUsage().rss / 1_048_576);
    // A fault that could not be undone may keep the run from its end, so it is told at once.
    const failed = log.failures.map((failure) => `; FAILED ${failure.split('\n', 1).join('')}`).join('');
    // A fault that does not end keeps those that wait for it from beginning.
    const active = log.active().join(', ');
    say(`${seconds(beganAt)}: ${log.faults.length} faults (${active}), ${events.count} events, ${memory} MB${failed}`);
  }, SAY_EVERY_MS);
  try {
    const faults = injectFaults(plan, { stage, link, signal }, log);
    const streaming = driveStream({
      ...{ seed, orders, rate, shop, link, simulator: stage.simulator, signal },
      ...{ faults, isBrokerDead: options.isBrokerDead },
    });
    const [stream] = await Promise.all([streaming, faults]);
    return stream;
  } finally {
    clearInterval(progress);
  }
}

/** Commands that wait on the broker are orders that nobody has seen yet. */
async function missingOf({ database }: Stage, { accepted }: StreamResult): Promise<number> {
  const [row] = await database.query<{ count: number }>('SELECT count(*)::int AS count FROM order_timeout.orders');
  return Math.max(accepted.size - (row?.count ?? 0), 0);
}

/** docs/runbook.md, "A queue does not serve": 3.10.8 leaves one without a leader if it is killed just after declaring it. */
async function deleteUnserved({ broker, prefix }: Stage, say: Run['say']): Promise<void> {
  for (const name of [...WAKE_UP_KINDS.map(workQueue), ...ladderQueues(), 'parked'].map(
    (each) => `${prefix}.${each}`,
  )) {
    if (await broker.serves(name)) continue;
    say(`the operator deletes ${name}, which has no leader`);
    await broker.deleteQueue(name);
  }
}

const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(0)} s`;

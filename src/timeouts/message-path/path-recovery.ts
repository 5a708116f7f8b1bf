import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import { UnsentWakeUps } from '../../outbox';
import { onChannel, type RabbitClient } from '../../rabbit';
import { type TimeoutObserver } from '../model/timeout';
import { type WakeUpRepublisher } from './wake-up-republisher';
import { type TransportSwitch } from './transport-switch';

interface RecoveryDependencies {
  readonly client: RabbitClient;
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly switch: Pick<TransportSwitch, 'restore'>;
  readonly republication: WakeUpRepublisher;
  readonly observer: Pick<TimeoutObserver, 'wakeUpsMissed'>;
}

/** From the first attempt to the second; doubled after each, as an attempt declares the whole ladder. */
const FIRST_PAUSE_MS = 10_000;

const LONGEST_PAUSE_MS = 60_000;

/** A path that keeps losing is not flooded: one republication within this time. */
const QUIET_S = 600;

/** Decides when missed wake-ups make the message path suspect, and brings it back. */
export class PathRecovery {
  private readonly logger = new Logger(PathRecovery.name);
  private readonly suspicion: PathSuspicion;
  private readonly unsent: UnsentWakeUps;
  /** Kinds with missed wake-ups that wait for an explanation, and how many still lack one. */
  private readonly questioned = new Map<string, () => number>();
  private attempts = 0;
  private attemptedMs = -Infinity;
  /** What is pending has been published again since the path became suspect. */
  private isRequested = false;

  constructor(
    private readonly deps: RecoveryDependencies,
    private readonly clock: Clock,
  ) {
    this.suspicion = new PathSuspicion(clock);
    this.unsent = new UnsentWakeUps(deps.schema);
  }

  get isSuspect(): boolean {
    return this.suspicion.isSuspect;
  }

  /** Why it is suspect; undefined while it is not. */
  get cause(): string | undefined {
    return this.suspicion.cause;
  }

  /** Notes a run of the sweep with timeouts whose wake-ups should have come. Returns true when there is something to `examine`. */
  missed(kind: string, count: () => number): boolean {
    if (this.isSuspect) return false;
    this.questioned.set(kind, count);
    return true;
  }

  /**
   * Looks for another explanation: the wake-ups were not sent yet, wait in the work queue, or have come meanwhile. Only the
   * others count as missed.
   */
  async examine(): Promise<void> {
    const questioned = [...this.questioned];
    if (questioned.length === 0) return;
    this.questioned.clear();
    const kinds = questioned.map(([kind]) => kind);
    const { client, dataSource, observer } = this.deps;
    // In the order of their way: what moves on meanwhile is seen twice and not missed.
    const unsent = await this.unsent.countOverdue(dataSource, kinds);
    const queues = kinds.map((kind) => client.names.workQueue(kind));
    const waiting = await countWaiting(client, queues).catch(() => []);
    const missed = questioned
      .map(([kind, count], at) => ({ kind, count: count() - (unsent.get(kind) ?? 0) - (waiting[at] ?? 0) }))
      .filter(({ count }) => count > 0);
    for (const { kind, count } of missed) observer.wakeUpsMissed(kind, count);
    const what = missed.map(({ kind, count }) => `${count} of ${kind}`).join(', ');
    if (what) this.logger.warn(`wake-ups were lost or are stalled at the broker, and the sweep took over: ${what}`);
    if (this.suspicion.missed(missed.map(({ kind }) => kind)))
      this.suspect(`wake-ups keep going missing (${what} in the last run of the sweep)`);
  }

  /** Declares everything again, sends a message through, publishes what is pending again, and then trusts the path. */
  async attempt(): Promise<void> {
    if (!this.isSuspect || !this.isDue()) return;
    this.attempts += 1;
    this.attemptedMs = this.clock.monotonic();
    const probe = await this.deps.switch.restore();
    if (probe.type !== 'works') {
      const reason = probe.type === 'absent' ? 'the plugin is not there' : probe.reason;
      this.suspicion.suspect(`a message that was sent to try it did not come through: ${reason}`);
    } else if (!this.isRequested) await this.request();
    else if (!(await this.deps.republication.isRunning()) && this.suspicion.clear())
      this.logger.log('the message path is trusted again: what was pending is published, and a message came through');
  }

  private suspect(cause: string): void {
    if (!this.suspicion.suspect(cause)) return;
    this.isRequested = false;
    this.attempts = 0;
    this.attemptedMs = -Infinity;
    this.logger.warn(`the message path is suspect: ${cause}; the sweep is the clock until it is trusted again`);
  }

  private async request(): Promise<void> {
    const answer = await this.deps.republication.request({ cause: this.cause ?? '', quietS: QUIET_S });
    this.isRequested = answer !== 'too-soon';
  }

  private isDue(): boolean {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.max(this.attempts - 1, 0), LONGEST_PAUSE_MS);
    return this.clock.monotonic() - this.attemptedMs >= pauseMs;
  }
}

/** For this long after it was cleared, one run of a sweep with missed wake-ups is enough. */
const PROBATION_MS = 3_600_000;

/** How long a path that fails again stays suspect at least; doubled each time. */
const FIRST_HOLD_MS = 600_000;

const LONGEST_HOLD_MS = 7_200_000;

/**
 * Whether the message path can be trusted, by what the sweeps of this process find. A path that keeps losing wake-ups
 * becomes suspect, and the sweep is the clock until it is cleared. One that fails again soon stays suspect for longer each
 * time, so that neither republications nor late timeouts go on forever.
 */
export class PathSuspicion {
  /** Kinds whose wake-ups one run of a sweep has missed. */
  private readonly missedBefore = new Set<string>();
  private sinceMs: number | undefined;
  private clearedMs = -Infinity;
  private relapses = 0;
  private reason = '';

  constructor(private readonly clock: Clock) {}

  get isSuspect(): boolean {
    return this.sinceMs !== undefined;
  }

  /** Why it is suspect; undefined while it is not. */
  get cause(): string | undefined {
    return this.isSuspect ? this.reason : undefined;
  }

  /**
   * Notes a run of the sweep with missed wake-ups that nothing explains. Returns true when that looks like a fault of the
   * path: at the second run of a kind, however much later. Wake-ups that were lost together are missed one by one, each at
   * its own deadline, while later ones arrive.
   */
  missed(kinds: readonly string[]): boolean {
    const isProbation = this.clock.monotonic() - this.clearedMs <= PROBATION_MS;
    const isFault = kinds.some((kind) => isProbation || this.missedBefore.has(kind));
    for (const kind of kinds) this.missedBefore.add(kind);
    return isFault;
  }

  /** Makes the path suspect, or replaces the reason. Returns whether it was not suspect before. */
  suspect(cause: string): boolean {
    this.reason = cause;
    if (this.isSuspect) return false;
    this.sinceMs = this.clock.monotonic();
    this.relapses = this.sinceMs - this.clearedMs <= PROBATION_MS ? this.relapses + 1 : 0;
    return true;
  }

  /** Clears the path, unless it has to stay suspect for longer. Returns whether it is cleared now. */
  clear(): boolean {
    if (this.sinceMs === undefined) return true;
    const nowMs = this.clock.monotonic();
    if (nowMs - this.sinceMs < this.holdMs()) return false;
    this.sinceMs = undefined;
    this.clearedMs = nowMs;
    this.missedBefore.clear();
    return true;
  }

  private holdMs(): number {
    return this.relapses === 0 ? 0 : Math.min(FIRST_HOLD_MS * 2 ** (this.relapses - 1), LONGEST_HOLD_MS);
  }
}

const ANSWER_MS = 10_000;

/** How many messages are ready in each of these queues; 0 if nobody consumes it. @throws when the broker cannot be asked. */
function countWaiting(client: RabbitClient, queues: readonly string[]): Promise<number[]> {
  return client.onTemporaryConnection(async (connection) => {
    const asking = onChannel(connection, (channel) => Promise.all(queues.map((queue) => channel.checkQueue(queue))));
    return (await asking).map(({ consumerCount, messageCount }) => (consumerCount > 0 ? messageCount : 0));
  }, ANSWER_MS);
}

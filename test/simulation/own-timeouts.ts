import { type INestApplicationContext, Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import {
  type DueTimeout,
  type ScheduledTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutScheduler,
} from '../../src/public/timeouts';
import { type Kernel } from './kernel';
import { type SimulatedBroker } from './simulated-broker';
import { type Stage } from './stage';
import { acting } from './virtual-time';

const SECOND = 1_000;

const KIND = 'host.note';

/** Less than a lease. */
const LONGEST_MS = 4 * SECOND;

/** Those with this letter are looked up before they are handled. */
const ASKED = 'a';

const ROUNDS = 3;

const SOON_MS = 4 * SECOND;

const KEYS = ['n1', 'n2', 'n3', `${ASKED}1`, `${ASKED}2`, `${ASKED}3`];

/** A table of the host: what its handler has done, and by which generation's look-up. */
export const NOTED = 'CREATE TABLE sim.noted (key text, generation bigint, asked bigint, noted_at timestamptz)';

/** Code of the host. Nothing but the engine keeps it from handling a timeout twice. */
@Injectable()
@TimeoutHandler(KIND, { leaseMs: 8 * SECOND })
export class Notes implements TimeoutHandlerBatch<string> {
  async handleBatch(due: readonly DueTimeout<string>[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const ready = due.filter(({ key, answer }) => !key.startsWith(ASKED) || answer !== undefined);
    for (const { key, generation, answer } of ready)
      await tx.query('INSERT INTO sim.noted SELECT $1, $2, $3, clock_timestamp()', [key, generation, answer ?? null]);
    return due.map((one) => ({ type: ready.includes(one) ? 'done' : 'look-up' }));
  }

  /** Whoever is asked is not late. */
  async lookUp({ generation }: DueTimeout): Promise<string> {
    const ms = Math.random() * LONGEST_MS;
    await acting.exit(() => new Promise((resolve) => setTimeout(resolve, ms)));
    return generation;
  }
}

/** Timeouts of the host's own kind, which are due at once while connections break, and some are moved when they are due. */
export class OwnTimeouts {
  constructor(
    private readonly stage: Stage,
    private readonly broker: SimulatedBroker,
  ) {}

  async tell(): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([...KEYS.map((key) => this.scheduleAndMove(key)), this.breakConnection()]);
      await this.stage.pause(10, 40);
    }
  }

  /** Some are moved while they are handled. */
  private async scheduleAndMove(key: string): Promise<void> {
    const { stage } = this;
    await this.schedule(key, SOON_MS);
    if (stage.random.chance(0.5)) return;
    await stage.kernel.sleep(stage.random.between(SOON_MS, SOON_MS + LONGEST_MS));
    await this.schedule(key, stage.random.between(2, 20) * SECOND);
  }

  /** About when they are due. What was delivered is delivered once more. */
  private async breakConnection(): Promise<void> {
    const { kernel, random } = this.stage;
    await kernel.sleep(SOON_MS);
    for (let steps = random.between(0, 40); steps > 0; steps--) await kernel.turn('time goes by');
    this.broker.cut(random);
  }

  private async schedule(key: string, afterMs: number): Promise<void> {
    const { stage } = this;
    const schedule = (_orders: unknown, app: INestApplicationContext): Promise<ScheduledTimeout[]> =>
      app.get(TimeoutScheduler).schedule([{ kind: KIND, key, afterMs }]);
    const [told] = (await stage.ask(`the host schedules ${key} in ${afterMs} ms`, schedule, false)) ?? [];
    if (told) stage.scheduled.push(told);
  }
}

/** What a host was told to be scheduled is handled at its time, once, or not if it was moved before. */
export async function ownProblems(kernel: Kernel, { scheduled }: Stage): Promise<string[]> {
  if (scheduled.length === 0) return [];
  interface Noted {
    readonly key: string;
    readonly generation: string;
    readonly asked: string | null;
    readonly at: Date;
  }
  const noted = await kernel.query<Noted>(
    'SELECT key, generation::text, asked::text, noted_at AS at FROM sim.noted ORDER BY noted_at, key',
  );
  const last = new Map(scheduled.map((one) => [one.key, one]));
  return [
    ...noted
      .filter(({ asked, generation }) => asked !== null && asked !== generation)
      .map(({ key, generation, asked }) => `${key} ${generation} was handled by what ${asked} was looked up for`),
    ...noted
      .filter(({ generation }, index) => noted.findIndex((one) => one.generation === generation) < index)
      .map(({ key, generation }) => `${key} ${generation} was handled again`),
    ...noted
      .filter(({ generation, at }) => scheduled.some((one) => one.generation === generation && at < one.dueAt))
      .map(({ key, generation }) => `${key} ${generation} was handled before its time`),
    ...[...last.values()]
      .filter(({ generation }) => !noted.some((one) => one.generation === generation))
      .map(({ key, generation }) => `${key} ${generation} was never handled`),
  ];
}

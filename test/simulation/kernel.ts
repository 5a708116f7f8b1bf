import { createHash } from 'node:crypto';
import { Random } from '../model/random';
import { type Backends } from './backends';
import { Sessions } from './sessions';
import { acting, type Actor, liveIn, real, seedRandomness, VirtualTime } from './virtual-time';

/** Something outside of the service that may happen next. */
interface Step {
  readonly label: string;
  readonly actor: Actor | undefined;
  readonly run: () => Promise<void> | void;
}

/** No loop looks more often. */
const POLL_MS = 500;

/** What a world is made of. */
export interface KernelOptions {
  readonly seed: number;
  /** Epoch milliseconds. */
  readonly startMs: number;
  /** In the database of the world. */
  readonly backends: Backends;
}

/**
 * Decides by a seed what happens next: which statement PostgreSQL gets, what the broker and the banks do, which timer fires.
 * One thing happens at a time, and time moves only when nothing else can happen, so equal seeds give equal worlds.
 */
export class Kernel {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: string[] = [];
  readonly sessions: Sessions;
  /** How late timers of instances are: a drawn time between these, milliseconds. */
  private late = { leastMs: 0, mostMs: 0 };
  steps = 0;
  /** The time of the last line, as the trace has it. */
  private said = { at: NaN, text: '' };
  private readonly waiting: Step[] = [];

  private constructor(options: KernelOptions) {
    this.random = new Random(options.seed);
    this.time = new VirtualTime(options.startMs, (ms) => this.lateness(ms));
    this.sessions = new Sessions(this.time, options.backends, (line) => this.say(line));
  }

  /** From now on, the process lives in this world. */
  static async open(options: KernelOptions): Promise<Kernel> {
    const kernel = new Kernel(options);
    kernel.sessions.open();
    await kernel.sessions.tellTime();
    liveIn(kernel.time);
    seedRandomness(options.seed, () => kernel.steps);
    return kernel;
  }

  /** Nothing of this world happens in the next one. */
  async close(): Promise<void> {
    do await settled();
    while (await this.sessions.resume());
    await this.sessions.close();
  }

  /** The same for equal worlds. */
  get digest(): string {
    return createHash('sha256').update(this.trace.join('')).digest('hex').slice(0, 16);
  }

  say(line: string): void {
    const at = this.time.now;
    if (this.said.at !== at) this.said = { at, text: new real.Date(at).toISOString().slice(11, 23) };
    this.trace.push(`${this.said.text} ${line}`);
  }

  /** Looks at the database from outside. */
  query<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return this.sessions.ask<T>(sql, values);
  }

  /** Happens when it is drawn. */
  step(label: string, run: () => Promise<void> | void): void {
    const actor = acting.getStore();
    if (actor?.isAlive !== false) this.waiting.push({ label, actor, run });
  }

  /** Resolves when it is drawn. */
  turn(label: string): Promise<void> {
    return new Promise((resolve) => this.step(label, resolve));
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.time.after(ms, resolve));
  }

  /** From now on, timers of instances are so late. */
  delay(mostMs: number, leastMs = 0): void {
    this.late = { leastMs, mostMs };
  }

  /** Polls are very late, so that hours in which nothing happens cost little. Short waits are mostly on time. */
  private lateness(ms: number): number {
    const { leastMs, mostMs } = this.late;
    const drawn = this.random.next();
    if (ms >= POLL_MS) return Math.floor(leastMs + (mostMs - leastMs) * drawn);
    return this.random.chance(0.1) ? Math.floor(mostMs * drawn) : 0;
  }

  /** Runs until nothing can happen before `untilMs`. @throws Error after too many steps. */
  async run(untilMs: number, maxSteps = 200_000): Promise<void> {
    for (const endsAt = this.steps + maxSteps; this.steps < endsAt;) {
      await settled();
      if (this.sessions.hasNews && (await this.sessions.resume())) continue;
      if (this.fireAnother()) continue;
      const happening = this.happen();
      if (happening) {
        await happening;
        continue;
      }
      const at = Math.min(this.time.next, this.sessions.nextLockTimeout);
      this.time.moveTo(Math.min(at, untilMs));
      if (at > untilMs) return;
      if (this.sessions.nextLockTimeout > this.time.now || !(await this.sessions.timeOutLock()))
        this.time.takeDue(this.random)?.();
      this.steps += 1;
    }
    throw new Error(`the world does not come to rest within ${maxSteps} steps`);
  }

  /** What is due at one instant happens side by side, or one after the other. */
  private fireAnother(): boolean {
    if (this.time.next > this.time.now || this.random.chance(0.5)) return false;
    this.time.takeDue(this.random)?.();
    this.steps += 1;
    return true;
  }

  /** The instance is gone with all that it does. PostgreSQL notices, and rolls back. */
  crash(actor: Actor): void {
    actor.isAlive = false;
    this.say(`${actor.name} crashes`);
    this.time.drop(actor);
    for (const step of this.waiting.filter((one) => one.actor === actor)) this.remove(step);
    this.sessions.drop(actor);
  }

  /** Begins one of the things that can happen now. Undefined: there is none. */
  private happen(): Promise<void> | undefined {
    const mayRun = (actor: Actor | undefined): boolean => !actor || actor.stalledUntil <= this.time.now;
    const choices = [...this.sessions.ready(mayRun), ...this.waiting.filter(({ actor }) => mayRun(actor))];
    const choice = this.random.oneOf(choices);
    if (!choice) return undefined;
    this.steps += 1;
    return 'queue' in choice ? this.sessions.execute(choice) : this.perform(choice);
  }

  private async perform(step: Step): Promise<void> {
    this.remove(step);
    this.say(step.label);
    await (step.actor ? acting.run(step.actor, step.run) : step.run());
  }

  private remove(step: Step): void {
    this.waiting.splice(this.waiting.indexOf(step), 1);
  }
}

/** Everything that follows from the last step without waiting for anybody has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

/** For the trace. Amounts are bigints. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}

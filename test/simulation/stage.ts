import { Orders } from '../../src';
import { type INestApplicationContext } from '@nestjs/common';
import { type ScheduledTimeout } from '../../src/public/timeouts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Random } from '../model/random';
import { type BankPayment } from './bank-books';
import { type Transfer } from './clerk';
import { drawHabits, drawStory, type Habits, type StoryName } from './habits';
import { type Instance } from './instance';
import { jsonOf, type Kernel } from './kernel';
import { type Swarm } from './swarm';

const SECOND = 1_000;

/** After so many tries, people give up what they were about; no failure lasts for so long, but for a day without an instance. */
const TRIES = 30;

/** Between tries, at most. */
const LONGEST_PAUSE_MS = 16 * SECOND;

/** A call fails if so many conflicts were in its way. */
const CONFLICTS = 3;

/** One for all worlds: Node.js asks each storage that there ever was at each promise. */
const person = new AsyncLocalStorage<Person>();

interface Person {
  /** Whose follower, and which. */
  readonly name: string;
  readonly random: Random;
  followers: number;
}

/** What people have around them. */
export class Stage {
  readonly instances: Instance[] = [];
  /** What the shop has placed, by order. */
  readonly lines = new Map<string, readonly { readonly sku: string; readonly quantity: number }[]>();
  /** What a shop was told: attempts that are registered, by reference, and orders that are paid or canceled. */
  readonly registered = new Set<string>();
  readonly paid = new Set<string>();
  readonly canceled = new Set<string>();
  /** What buyers got to pay, and when the shop began to ask whether they may. */
  readonly handedOver: { readonly orderId: string; readonly reference: string; readonly began: number }[] = [];
  /** What nobody has canceled but a host, whose call has failed. */
  readonly uncanceled = new Set<string>();
  /** Orders of which nothing is left to a person. */
  readonly done = new Set<string>();
  /** What a host has taken back before it was committed. */
  readonly unplaced = new Set<string>();
  readonly habits: Habits;
  readonly story: StoryName | undefined;
  /** Rows that an operator has settled, with the payment that was wired back for it. */
  readonly settled: { readonly id: string; readonly wired: BankPayment | undefined }[] = [];
  /** What the statement of account of a bank without an adapter lists. */
  readonly transfers: Transfer[] = [];
  /** Orders about which a person has decided something. */
  readonly touched = new Set<string>();
  /** What a host was told of timeouts of its own kind, in the order of its calls. */
  readonly scheduled: ScheduledTimeout[] = [];
  /** When somebody runs the service again, epoch milliseconds. */
  dawnMs = 0;
  /** People who are not done. */
  busy = 0;
  readonly mishaps: string[] = [];

  /** The names of those who were sent. */
  readonly sent: string[] = [];
  private readonly director: Person;

  /** @param absent those who do nothing in this world, by name */
  constructor(
    readonly kernel: Kernel,
    random: Random,
    readonly swarm: Swarm,
    private readonly seed: number,
    private readonly absent: readonly string[],
  ) {
    this.director = { name: '', random, followers: 0 };
    this.habits = drawHabits(random, swarm, new Random(seedOf(`${seed} apart`)));
    this.story = drawStory(new Random(seedOf(`${seed} fable`)), new Random(seedOf(`${seed} later`)));
  }

  /** Everybody draws alone, so that the others do the same without him. */
  get random(): Random {
    return (person.getStore() ?? this.director).random;
  }

  /** Somebody who acts beside all others. */
  send(act: () => Promise<unknown>): void {
    const sender = person.getStore() ?? this.director;
    const name = `${sender.name}/${++sender.followers}`;
    if (this.absent.includes(name)) return;
    this.sent.push(name);
    this.busy += 1;
    const sent: Person = { name, random: new Random(seedOf(`${this.seed}${name}`)), followers: 0 };
    person.run(sent, act).then(
      () => (this.busy -= 1),
      (error: Error) => this.mishaps.push(`a person broke down: ${error.stack}`),
    );
  }

  /** A host locks what it likes, in any order. */
  get hasHost(): boolean {
    return this.habits.held || this.habits.hosted > 0;
  }

  /** Waits for a drawn time. */
  pause(fromS: number, toS: number): Promise<void> {
    return this.kernel.sleep(this.random.between((fromS * SECOND) / 2, (toS * SECOND) / 2));
  }

  /** The service repeats what fails because of others, so a caller is told only of what fails again and again. */
  private judge(what: string, error: unknown, began: number): void {
    const { code } = error as { readonly code?: string };
    const isConflict = code === '40001' || code === '40P01';
    if (isConflict && this.kernel.sessions.conflicts < began + CONFLICTS)
      this.mishaps.push(`${what}: nobody has tried again after ${(error as Error).message}`);
  }

  /** One of the instances that answer. */
  get someone(): Instance | undefined {
    return this.random.oneOf(this.instances.filter(({ answers }) => answers));
  }

  /**
   * Asks some instance, and others until one answers, as shops do. What a call without an answer has done is not known, so
   * whoever asks at night goes on in the morning. Undefined: none did.
   *
   * @param isRepeated by the service itself, after a conflict, as all but reads are
   */
  async ask<T>(
    what: string,
    work: (orders: Orders, app: INestApplicationContext) => Promise<T>,
    isRepeated = true,
  ): Promise<T | undefined> {
    for (let tries = 0; tries < TRIES; tries++) {
      await this.kernel.turn(what);
      const began = this.kernel.sessions.conflicts;
      try {
        const result = await this.someone?.request((app) => work(app.get(Orders), app));
        if (result !== undefined) {
          this.kernel.say(`${what}: ${textOf(result)}`);
          return result;
        }
      } catch (error) {
        this.kernel.say(`${what} failed: ${(error as Error).message}`);
        if (isRepeated) this.judge(what, error, began);
      }
      await this.kernel.sleep(Math.min(SECOND * 2 ** tries, LONGEST_PAUSE_MS));
      const nightMs = this.dawnMs - this.kernel.time.now;
      if (tries < TRIES - 1 || nightMs <= 0) continue;
      await this.kernel.sleep(nightMs);
      tries = 0;
    }
    return undefined;
  }
}

function textOf(result: unknown): string {
  const { outcome, code } = result as { readonly outcome?: string; readonly code?: string };
  if (outcome !== undefined) return code === undefined ? outcome : `${outcome} ${code}`;
  return jsonOf(result).slice(0, 160);
}

function seedOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE();
}

import { type OrderPolicyOptions, type OrderTimeoutOptions, Orders } from '../../src';
import { present } from '../../src/errors';
import { type UnmatchedPayment } from '../../src/public/orders';
import { Random } from '../model/random';
import { Bank } from './bank';
import { drawTraits } from './bank-traits';
import { checkWorld } from './check-world';
import { Instance } from './instance';
import { jsonOf, Kernel } from './kernel';
import { delivered } from './listener';
import { Notes, OwnTimeouts } from './own-timeouts';
import { People } from './people';
import { type Place } from './place';
import { SimulatedBroker } from './simulated-broker';
import { drawSize, type Size } from './size';
import { Stage } from './stage';
import { steadyProblems } from './steady';
import { Stories } from './stories';
import { Swarm } from './swarm';
import { Trouble } from './trouble';

/** When every world begins, epoch milliseconds. */
export const START_MS = Date.UTC(2030, 0, 1);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** People act and things break for so long at most. Then the world is calm, and all that can be decided is decided. */
const ACTIVE_MS = MINUTE;

/** Of what is due later, nothing is of interest before the world is calm. */
const SOON_MS = 20 * SECOND;

const CALM_MS = 18 * MINUTE;

/** What became of a world. */
export interface Story {
  readonly seed: number;
  /** What must not be. Empty: nothing. */
  readonly problems: readonly string[];
  readonly trace: readonly string[];
  /** The same for equal worlds. */
  readonly digest: string;
  readonly steps: number;
  readonly statements: number;
  /** Everybody who did something, by name. */
  readonly people: readonly string[];
}

/**
 * Plays one world from its beginning to its end.
 *
 * @param absent the people who do nothing in it
 */
export async function playWorld(seed: number, place: Place, absent: readonly string[] = []): Promise<Story> {
  await place.empty(seed);
  delivered.clear();
  const kernel = await Kernel.open({ seed, startMs: START_MS, ...place });
  const world = new World(kernel, seed, place, absent);
  let problems: readonly string[];
  try {
    problems = await world.play();
  } catch (error) {
    problems = [`the world broke down: ${String((error as Error).stack)}`];
  } finally {
    world.end();
    await kernel.close();
  }
  const { trace, digest, steps, sessions } = kernel;
  return { seed, problems, trace, digest, steps, statements: sessions.statements, people: world.stage.sent };
}

class World {
  readonly stage: Stage;
  private readonly random: Random;
  private readonly size: Size;
  private readonly broker: SimulatedBroker;
  private readonly bank: Bank;
  private readonly people: People;
  private readonly trouble: Trouble;
  private readonly policies: OrderPolicyOptions;
  private readonly options: OrderTimeoutOptions;
  /** Of the instances, the share that has the bank. */
  private readonly knowing: number;
  /** Clocks of machines are apart; deployments change policies; instances crash or stall; servers, or all, are away. */
  private readonly isSkewed: boolean;
  private readonly isChanging: boolean;
  private readonly isBreaking: boolean;
  private readonly isStriking: boolean;
  private readonly isAsleep: boolean;
  private started = 0;
  /** How late polls may be while people act. */
  private lateMs = 0;

  constructor(
    private readonly kernel: Kernel,
    seed: number,
    private readonly place: Place,
    absent: readonly string[],
  ) {
    const random = (this.random = new Random(seed + 1));
    const size = (this.size = drawSize(random));
    const swarm = new Swarm(random, size.share);
    this.stage = new Stage(kernel, random, swarm, seed, absent);
    this.broker = new SimulatedBroker(kernel, random.chance(0.5));
    this.trouble = new Trouble(kernel, random, swarm, this.broker);
    this.bank = new Bank(kernel, random, drawTraits(swarm), (body) => this.notify(body));
    this.people = new People(this.stage, this.bank, random.pick(...size.orders));
    this.policies = this.drawPolicies();
    this.options = this.drawOptions();
    this.isSkewed = swarm.has();
    this.isChanging = swarm.has();
    this.isBreaking = swarm.has();
    this.isStriking = swarm.has();
    this.isAsleep = swarm.draw(false, [1, true], [1, false]);
    this.knowing = swarm.draw(1, [1, 0.9], [1, 0.5]);
  }

  async play(): Promise<readonly string[]> {
    const { kernel, random, people, size } = this;
    this.broker.install();
    kernel.time.gridMs = random.pick([1, 1], [2, 500], [2, 2 * SECOND]);
    // Somebody has to have the bank.
    const least = this.knowing < 1 ? 2 : 1;
    for (let count = Math.max(random.pick(...size.instances), least); count > 0; count--) this.start();
    await this.untilSomebodyAnswers();
    await this.act(() => {
      people.send();
      new Stories(this.stage, this.bank).send();
    });
    const problems = [...(await this.check()), ...(await this.steady())];
    if (problems.length > 0 || !random.chance(size.again)) return problems;
    await this.letDaysPass();
    await this.act(() => people.sendAgain());
    return this.check();
  }

  /** Once more without trouble, but for that of the broker. */
  private async steady(): Promise<readonly string[]> {
    const { kernel, stage, broker } = this;
    if (stage.story !== 'steady') return [];
    const problems = await steadyProblems(kernel, stage, broker);
    await this.calmDown();
    return [...problems, ...(await this.check())];
  }

  end(): void {
    for (const instance of this.stage.instances) instance.crash();
  }

  /** People act and things break. Then the world calms down until all is decided. */
  private async act(send: () => void): Promise<void> {
    const { kernel, random, stage } = this;
    const untilMs = kernel.time.now + ACTIVE_MS;
    this.lateMs = random.pick(...this.size.lateS) * SECOND;
    kernel.delay(this.lateMs, this.lateMs / 4);
    this.bank.isCalm = false;
    this.trouble.begin(stage.habits.failing);
    send();
    if (stage.story === 'stranger') this.start(true, 0);
    if (stage.story === 'crossing' || stage.story === 'ownTimeouts') this.start(false);
    if (stage.story === 'ownTimeouts') stage.send(() => new OwnTimeouts(stage, this.broker).tell());
    if (this.isBreaking) stage.send(() => this.breakThings());
    if (this.isStriking) stage.send(() => this.strike());
    if (stage.story === 'withoutRight') stage.send(() => this.trouble.withhold());
    if (this.isAsleep || stage.story === 'afterADay') await this.sleepForADay();
    // What breaks for long is over before the world is calm.
    while (kernel.time.now < untilMs || this.trouble.lasts) {
      if (kernel.time.now >= untilMs) kernel.delay(MINUTE, MINUTE / 2);
      await kernel.run(kernel.time.now + 5 * SECOND);
      if (!this.isBusy && (await this.nextDue()) > kernel.time.now + SOON_MS) break;
    }
    await this.calmDown();
  }

  /** No instance runs for longer than a provider may be unclear. Then everything goes on as before. */
  private async sleepForADay(): Promise<void> {
    const { kernel, stage, random } = this;
    await kernel.run(kernel.time.now + random.between(5 * SECOND, ACTIVE_MS));
    kernel.say('a day passes without an instance');
    stage.dawnMs = kernel.time.now + DAY + 2 * HOUR;
    // Whoever starts meanwhile hardly looks.
    kernel.delay(20 * HOUR, 10 * HOUR);
    for (const instance of stage.instances) instance.crash();
    await kernel.run(stage.dawnMs);
    for (const instance of stage.instances) instance.crash();
    const isAway = this.bank.away !== undefined;
    kernel.delay(isAway ? 0 : this.lateMs);
    this.start(false);
    await kernel.run(kernel.time.now + (isAway ? 3 : 1) * ACTIVE_MS);
  }

  private async check(): Promise<string[]> {
    const { kernel, stage, bank, broker } = this;
    const events = this.options.rabbit && broker.listener.facts();
    const listed = await this.read();
    const problems = [
      ...stage.mishaps,
      ...(await checkWorld(kernel, stage, bank, events, listed)),
      ...kernel.sessions.violations,
      ...(stage.hasHost ? [] : kernel.sessions.deadlocks),
    ];
    if (problems.length > 0) await this.tellTables();
    return problems;
  }

  /** For whoever reads the story of a bad world. */
  private async tellTables(): Promise<void> {
    for (const table of ['orders', 'payment_attempt', 'unmatched_payment', 'refund', 'timeout'])
      for (const row of await this.kernel.query(`SELECT * FROM order_timeout.${table} t ORDER BY t::text`))
        this.kernel.say(`${table}: ${jsonOf(row)}`);
  }

  /** What an operator reads when all is calm. */
  private async read(): Promise<readonly UnmatchedPayment[]> {
    const { kernel, stage } = this;
    let list: readonly UnmatchedPayment[] | undefined;
    const read = stage.ask('an operator reads', (orders) => orders.unmatched.list({ limit: 500 }), false);
    void read.then((rows) => (list = rows));
    for (let seconds = 0; seconds < 600 && !list; seconds++) await kernel.run(kernel.time.now + SECOND);
    return present(list, 'what an operator reads');
  }

  private async calmDown(): Promise<void> {
    const { kernel, stage } = this;
    kernel.say('the world calms down');
    this.bank.isCalm = true;
    this.bank.away = undefined;
    this.trouble.end();
    kernel.delay(2 * MINUTE, MINUTE);
    for (const { actor } of stage.instances) actor.stalledUntil = 0;
    for (const instance of stage.instances) if (!instance.knowsBank && stage.story !== 'stranger') instance.crash();
    if (!stage.instances.some(({ actor }) => actor.isAlive)) this.start(false);
    const began = kernel.time.now;
    let untilMs = began + CALM_MS;
    while (kernel.time.now < untilMs) {
      // What began late may end late.
      if (this.isBusy) untilMs = Math.min(kernel.time.now, began + CALM_MS) + CALM_MS;
      const dueMs = await this.nextDue();
      if (dueMs === Infinity && !this.isBusy) return;
      // Until something is due, polls would find nothing.
      const waitMs = Math.min(Math.max(dueMs - kernel.time.now, MINUTE / 2), 2 * MINUTE);
      kernel.delay(waitMs + SECOND, waitMs);
      await kernel.run(kernel.time.now + waitMs + SECOND);
    }
  }

  /** When the service starts, nothing is due. */
  private async untilSomebodyAnswers(): Promise<void> {
    const { kernel, stage } = this;
    kernel.delay(MINUTE, MINUTE / 2);
    for (let tries = 0; tries < 60 && !stage.someone; tries++) await kernel.run(kernel.time.now + SECOND);
  }

  /** Until everything is purged that may be. Timers are very late meanwhile, so that it costs little. */
  private async letDaysPass(): Promise<void> {
    const { kernel, stage } = this;
    kernel.say('days pass');
    kernel.delay(60 * HOUR, 30 * HOUR);
    await kernel.run(kernel.time.now + 3 * DAY);
    for (const instance of stage.instances) instance.crash();
    this.start(false);
    await this.untilSomebodyAnswers();
  }

  private get isBusy(): boolean {
    return this.stage.busy > 0 || this.bank.busy > 0;
  }

  /** When the database has something to do, epoch milliseconds; Infinity: all is done. */
  private async nextDue(): Promise<number> {
    const [next] = await this.kernel.query<{ due: number | null }>(`
      SELECT (extract(epoch FROM least(
               (SELECT min(next_attempt_at) FROM order_timeout.timeout WHERE state = 'pending'),
               (SELECT min(available_at) FROM order_timeout.outbox))) * 1000)::float8 AS due`);
    return next?.due ?? Infinity;
  }

  /** @param mayDiffer from the others in its settings, as during a deployment */
  private start(mayDiffer = true, knowing = this.knowing): void {
    const { random, kernel } = this;
    const knowsBank = !mayDiffer || random.chance(knowing);
    const skewMs = this.isSkewed && random.chance(0.5) ? random.between(-10 * MINUTE, 10 * MINUTE) : 0;
    const instance = new Instance(kernel, this.broker, `instance-${++this.started}`, knowsBank, skewMs);
    this.stage.instances.push(instance);
    const orders = mayDiffer && this.isChanging && random.chance(0.5) ? this.drawPolicies() : this.policies;
    const database = { url: urlFor(instance, this.place.url), poolSize: random.between(2, 5) };
    const providers = knowsBank ? this.options.providers : [];
    kernel.say(
      `${instance.actor.name} starts${knowsBank ? '' : ' without the bank'}${skewMs === 0 ? '' : `, ${skewMs} ms ahead`}, ${JSON.stringify(orders)}`,
    );
    const own = this.stage.story === 'ownTimeouts' ? [Notes] : [];
    instance.start({ ...this.options, orders, database, providers: providers ?? [] }, own, () => {
      instance.crash();
      kernel.time.after(5 * SECOND, () => this.start());
    });
  }

  private drawOptions(): OrderTimeoutOptions {
    const { random, bank } = this;
    const transport = random.pick<'auto' | 'ladder' | 'none'>([4, 'auto'], [1, 'ladder'], [1, 'none']);
    return {
      ...(transport !== 'none' && { rabbit: { urls: ['amqp://simulated'] } }),
      transport,
      horizonMs: random.pick([3, DAY], [1, 10 * SECOND]),
      sweep: { intervalMs: 20 * SECOND },
      orders: this.policies,
      retention: { finishedOrdersMs: DAY, settledMoneyMs: DAY, idempotencyKeysMs: DAY },
      providers: [bank.adapter()],
      migrate: false,
    };
  }

  private drawPolicies(): OrderPolicyOptions {
    const { random } = this;
    const latePayment = random.pick<'revive-if-stock' | 'refund' | 'keep'>(
      [2, 'revive-if-stock'],
      [1, 'refund'],
      [1, 'keep'],
    );
    return {
      paymentWindowMs: 15 * SECOND,
      graceMs: random.pick([3, 0], [1, 10 * SECOND]),
      latePayment,
      surplusPayment: random.pick<'refund' | 'keep'>([2, 'refund'], [1, 'keep']),
      overpayment: random.pick<'refund-excess' | 'keep'>([1, 'refund-excess'], [1, 'keep']),
      partialPayment: random.pick<'refund-and-close' | 'park'>([2, 'refund-and-close'], [1, 'park']),
      lateWatchOffsetsMs: [5 * SECOND, MINUTE],
      reminderOffsetsMs: random.pick([3, []], [1, [10 * SECOND]]),
      unknownProviders: 'allow',
    };
  }

  private async notify(body: Buffer): Promise<boolean> {
    const notification = { headers: {}, rawBody: body };
    try {
      const reply = await this.stage.someone?.request((app) => app.get(Orders).handleWebhook('bank', notification));
      this.kernel.say(`the notification ${body.toString()} is answered ${reply?.status}`);
      return reply?.status === 200;
    } catch {
      return false;
    }
  }

  private async strike(): Promise<void> {
    for (let times = this.stage.random.between(1, 3); times > 0; times--) {
      await this.stage.pause(2, 60);
      if (!this.bank.isCalm) await this.trouble.strike();
    }
  }

  private async breakThings(): Promise<void> {
    const { stage, kernel } = this;
    const { random } = stage;
    for (let times = random.between(1, 3); times > 0; times--) {
      await stage.pause(5, 50);
      if (this.bank.isCalm) return;
      // In the middle of what it does.
      for (let steps = random.between(0, 40); steps > 0; steps--) await kernel.turn('time goes by');
      const victim = stage.someone;
      if (!victim) continue;
      if (random.chance(0.4)) victim.stall(random.between(SECOND, MINUTE));
      else {
        victim.crash();
        await stage.pause(0, 20);
        this.start();
      }
    }
  }
}

/** Of this process. */
let instances = 0;

/**
 * Says whose connection it is. Instances are processes of their own, so none shares what it knows of its server with others,
 * or with those of worlds before. Nobody looks for the host.
 */
function urlFor({ actor }: Instance, url: string): string {
  const own = new URL(url);
  own.hostname = `server-of-${++instances}`;
  own.searchParams.set('options', `-c sim.actor=${actor.name}`);
  return own.toString();
}

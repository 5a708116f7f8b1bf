import { type Random } from '../model/random';
import { type Kernel } from './kernel';
import { host } from './listener';
import { type Fate } from './sessions';
import { CONNECT } from './statement-traits';
import { type SimulatedBroker } from './simulated-broker';
import { type Swarm } from './swarm';

const SECOND = 1_000;

/** SQLSTATEs that any statement may end with while others are at work. */
const CONFLICTS = ['40001', '40P01', '55P03', '57014'];

/** What locks something, or ends a transaction. Nothing else is in anybody's way. */
const LOCKS = /\b(?:INSERT INTO|UPDATE|DELETE FROM|COMMIT$)|advisory/;

const CANCELED = '57014';

interface Refusal {
  readonly code: string;
  /** Of which statements. */
  readonly of: RegExp;
}

const WRITES = /\b(?:INSERT INTO|UPDATE \w|DELETE FROM)/;

/** Of orders that are there. */
const HISTORY = /^(?!\s*WITH new_order)[^]*\bINSERT INTO \S*order_history/;

/** States of a server in which it answers, but refuses some of the work. */
const REFUSALS: readonly Refusal[] = [
  { code: '28P01', of: new RegExp(`^${CONNECT}$`) },
  { code: 'CERT_HAS_EXPIRED', of: new RegExp(`^${CONNECT}$`) },
  { code: '53300', of: new RegExp(`^${CONNECT}$`) },
  { code: '25006', of: WRITES },
  { code: '42501', of: WRITES },
  { code: '53100', of: WRITES },
];

/** What goes wrong between the instances, PostgreSQL, and the broker. Each world has its own share of it. */
export class Trouble {
  private isOver = true;
  private refusal: Refusal | undefined;
  private readonly conflicts: number;
  private readonly cuts: number;
  private readonly losing: number;
  private readonly breaking: number;
  /** What strikes. */
  private readonly kind: 'cut' | 'absent' | 'refusal';

  constructor(
    private readonly kernel: Kernel,
    private readonly random: Random,
    swarm: Swarm,
    private readonly broker: SimulatedBroker,
  ) {
    this.conflicts = swarm.draw(0, [1, 0.002], [1, 0.02]);
    this.cuts = swarm.draw(0, [1, 0.001], [1, 0.01]);
    this.losing = swarm.draw(0, [1, 0.1], [1, 0.5]);
    this.breaking = swarm.draw(0, [1, 0.02], [1, 0.2]);
    this.kind = random.pick([1, 'cut'], [1, 'absent'], [3, 'refusal']);
    kernel.sessions.fateOf = (text) => this.fateOf(text);
  }

  /** PostgreSQL refuses some of the work. */
  get lasts(): boolean {
    return this.refusal !== undefined;
  }

  /** @param failing how often code of the host fails, of 1 */
  begin(failing: number): void {
    this.isOver = false;
    Object.assign(this.broker, { losing: this.losing, breaking: this.breaking });
    host.failing = failing;
  }

  /** Something breaks for a while. */
  async strike(): Promise<void> {
    const { random, broker, kernel } = this;
    // Longer than it takes until a failure of the work is parked, or shorter.
    const ms = random.pick([2, random.between(SECOND, 30 * SECOND)], [1, 180 * SECOND]);
    const { kind } = this;
    if (kind === 'cut') return broker.cut(random);
    if (kind === 'absent') return broker.goAway(ms);
    this.refusal = random.oneOf(REFUSALS);
    // Then new ones are needed.
    if (this.refusal?.of.test(CONNECT)) kernel.sessions.cut(() => random.chance(0.5));
    kernel.say(`for ${ms} ms, PostgreSQL refuses ${String(this.refusal?.of)} with ${this.refusal?.code}`);
    await kernel.sleep(ms);
    this.refusal = undefined;
  }

  /** The user lacks the right to write one of the tables. */
  async withhold(): Promise<void> {
    this.refusal = { code: '42501', of: HISTORY };
    await this.kernel.sleep(400 * SECOND);
    this.refusal = undefined;
  }

  end(): void {
    this.isOver = true;
    this.broker.calmDown();
    Object.assign(host, { failing: 0, spoils: false });
  }

  private fateOf(text: string): Fate {
    if (this.isOver) return undefined;
    if (this.refusal?.of.test(text)) return { code: this.refusal.code };
    const { random } = this.kernel;
    // What becomes of a COMMIT is what most depends on.
    const drawn = random.next() / (text.endsWith('COMMIT') ? 10 : 1);
    if (drawn < this.conflicts && text !== CONNECT)
      return { code: (LOCKS.test(text) && random.oneOf(CONFLICTS)) || CANCELED };
    if (drawn < this.conflicts + this.cuts) return random.chance(0.5) ? 'cut-before' : 'cut-after';
    return undefined;
  }
}

import { type Random } from '../model/random';

export type Weights<T> = readonly (readonly [weight: number, value: T])[];

/**
 * Which of all the things that can happen do happen in a world: a few, and those often. A world with a little of everything
 * is long, and rare things hardly ever meet in it.
 */
export class Swarm {
  private readonly share: number;

  constructor(
    private readonly random: Random,
    shares: Weights<number>,
  ) {
    this.share = random.pick(...shares);
  }

  /** Whether the world has it. */
  has(): boolean {
    return this.random.chance(this.share);
  }

  /** One of `on` in a world that has it. */
  draw<T>(off: T, ...on: Weights<T>): T {
    return this.has() ? this.random.pick(...on) : off;
  }
}

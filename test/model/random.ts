import { Random as HarnessRandom } from '../support/buyers/random';

/** One per run, so that a run can be repeated alone. */
export class Random extends HarnessRandom {
  constructor(seed: number) {
    // Neighboring seeds must not give neighboring runs.
    super(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b));
    for (let i = 0; i < 3; i++) this.next();
  }

  /** True in this share of the cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One of them, each as likely as the others. Draws only if there is a choice. */
  oneOf<T>(all: readonly T[]): T | undefined {
    return all[all.length <= 1 ? 0 : this.between(0, all.length - 1)];
  }

  /** One of them, each as likely as its weight. */
  pick<T>(...choices: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    throw new Error('nothing to pick from');
  }
}

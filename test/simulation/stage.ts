import { Orders } from '../../src';
import { type INestApplicationContext } from '@nestjs/common';
import { type Random } from '../model/random';
import { type Instance } from './instance';
import { jsonOf, type Kernel } from './kernel';
import { Past } from './past';

const SECOND = 1_000;

/** A shop gives up after so many tries. */
const TRIES = 40;

/** What people have around them. */
export class Stage {
  readonly instances: Instance[] = [];
  /** What the shop has placed, by order. */
  readonly lines = new Map<string, readonly { readonly sku: string; readonly quantity: number }[]>();
  /** What a host has taken back before it was committed. */
  readonly unplaced = new Set<string>();
  readonly past = new Past();
  /** People who are not done. */
  busy = 0;
  readonly mishaps: string[] = [];

  constructor(
    readonly kernel: Kernel,
    readonly random: Random,
  ) {}

  /** Somebody who acts beside all others. */
  send(person: () => Promise<unknown>): void {
    this.busy += 1;
    person().then(
      () => (this.busy -= 1),
      (error: Error) => this.mishaps.push(`a person broke down: ${error.stack}`),
    );
  }

  /** Waits for a drawn time. */
  pause(fromS: number, toS: number): Promise<void> {
    return this.kernel.sleep(this.random.between((fromS * SECOND) / 2, (toS * SECOND) / 2));
  }

  /** One of the instances that answer. */
  get someone(): Instance | undefined {
    return this.random.oneOf(this.instances.filter(({ answers }) => answers));
  }

  /** Asks some instance, and others until one answers, as shops do. Undefined: none did. */
  async ask<T>(
    what: string,
    work: (orders: Orders, app: INestApplicationContext) => Promise<T>,
  ): Promise<T | undefined> {
    for (let tries = 0; tries < TRIES; tries++) {
      await this.kernel.turn(what);
      try {
        const result = await this.someone?.request((app) => work(app.get(Orders), app));
        if (result !== undefined) {
          this.kernel.say(`${what}: ${textOf(result)}`);
          return result;
        }
      } catch (error) {
        this.kernel.say(`${what} failed: ${(error as Error).message}`);
      }
      await this.kernel.sleep(SECOND);
    }
    return undefined;
  }
}

function textOf(result: unknown): string {
  const { outcome, code } = result as { readonly outcome?: string; readonly code?: string };
  if (outcome !== undefined) return code === undefined ? outcome : `${outcome} ${code}`;
  return jsonOf(result).slice(0, 160);
}

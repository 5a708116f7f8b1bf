import { type Random } from '../model/random';
import { type Weights } from './swarm';

/** How much there is of everything in a world. Most are small, because many worlds meet more than long ones do. */
export interface Size {
  readonly instances: Weights<number>;
  readonly orders: Weights<number>;
  /** Of all the things that can happen, the share that does. */
  readonly share: Weights<number>;
  /** How late polls may be while people act, seconds. */
  readonly lateS: Weights<number>;
  /** How often it goes on when much is purged and forgotten, of 1. */
  readonly again: number;
}

/** About 200 statements. */
const SMALL: Size = {
  instances: [
    [6, 1],
    [1, 2],
  ],
  orders: [
    [2, 1],
    [4, 2],
    [1, 3],
  ],
  share: [
    [1, 0.1],
    [2, 0.2],
    [1, 0.35],
  ],
  lateS: [
    [1, 15],
    [4, 100],
  ],
  again: 0.1,
};

/** About 700. */
const MIDDLE: Size = {
  instances: [
    [1, 1],
    [1, 2],
  ],
  orders: [
    [1, 2],
    [2, 3],
    [1, 6],
  ],
  share: [
    [2, 0.2],
    [1, 0.35],
  ],
  lateS: [
    [1, 5],
    [2, 20],
    [4, 60],
  ],
  again: 0.2,
};

const LARGE: Size = {
  instances: [
    [2, 2],
    [1, 3],
  ],
  orders: [
    [1, 4],
    [1, 7],
  ],
  share: [
    [1, 0.25],
    [1, 0.5],
  ],
  lateS: [
    [1, 5],
    [1, 20],
  ],
  again: 0.3,
};

export function drawSize(random: Random): Size {
  return random.pick([85, SMALL], [12, MIDDLE], [3, LARGE]);
}

import { type Random } from '../model/random';

export const PRICE = 100n;

/** Of orders. */
export const CURRENCY = 'EUR';

type Weights<T> = readonly (readonly [weight: number, value: T])[];

/**
 * How the people of one world behave. Most worlds have a little of everything; in others, people often do one thing and
 * never another, so that rare things meet each other.
 */
export interface Habits {
  /** Pieces of the only SKU. */
  readonly stock: number;
  /** Shares of orders: placed in a host's transaction, canceled, extended, looked up by their page. */
  readonly hosted: number;
  readonly canceled: number;
  readonly extended: number;
  readonly looked: number;
  readonly attempts: Weights<number>;
  readonly registers: Weights<'before' | 'late' | 'never'>;
  /** Of attempts, the share that is registered before the buyer gets them, and again when he does. */
  readonly heldBack: number;
  /** Of attempts, the share that the bank hears of only later. */
  readonly slow: number;
  /** How often a buyer pays one attempt, and how much. */
  readonly pays: Weights<number>;
  readonly amounts: Weights<bigint>;
  /** Of payments, the share that is in another currency than the order. */
  readonly foreign: number;
  /** Of payments, the share that a shop reports; of reports, those that name another order. */
  readonly reported: number;
  readonly mistaken: number;
  readonly operators: number;
}

export function drawHabits(random: Random): Habits {
  const share = (usual: number, often: number): number => random.pick([4, usual], [1, 0], [1, often]);
  // prettier-ignore
  return {
    stock: random.pick([3, 7], [1, 3]),
    hosted: share(0.25, 0.8),
    canceled: share(0.15, 0.7),
    extended: share(0.1, 0.6),
    looked: share(0.2, 0.8),
    attempts: random.pick<Weights<number>>([3, [[3, 1], [1, 2]]], [1, [[1, 2], [1, 3]]]),
    registers: random.pick<Habits['registers']>(
      [4, [[8, 'before'], [1, 'late'], [1, 'never']]],
      [1, [[1, 'before'], [3, 'late']]],
      [1, [[1, 'before'], [1, 'never']]],
    ),
    heldBack: share(0.2, 0.8),
    slow: share(0.1, 0.6),
    pays: random.pick<Weights<number>>([3, [[1, 0], [5, 1], [1, 2]]], [1, [[1, 1], [1, 2]]]),
    amounts: random.pick<Weights<bigint>>(
      [4, [[8, PRICE], [1, PRICE / 2n], [1, 2n * PRICE]]],
      [1, [[1, PRICE], [2, PRICE / 2n]]],
      [1, [[1, PRICE], [2, 2n * PRICE]]],
    ),
    foreign: random.pick([4, 0], [1, 0.3]),
    reported: share(0.35, 0.9),
    mistaken: share(0.1, 0.6),
    operators: share(0.6, 1),
  };
}

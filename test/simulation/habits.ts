import { type Random } from '../model/random';
import { type Swarm, type Weights } from './swarm';

export const PRICE = 100n;

/** Of orders. */
export const CURRENCY = 'EUR';

/** Pieces that nobody has to share. */
export const MANY = 20;

/** Of worlds, the share that has one of what came later. */
const RARE = 0.15;

/** Of worlds, the share that has a story, and of the others, the share that has one of those that came later. */
const TOLD = 0.06;
const TOLD_LATER = 0.02;

/** What happens in a story, which is told in stories.ts. */
export const STORIES = [
  'settledBefore',
  'settledReport',
  'oldMoney',
  'refundedPart',
  'takenTwice',
  'claimedFirst',
  'claimedTwice',
  'late',
  'rush',
  'handedOverLate',
  'halves',
  'paidBefore',
  'otherName',
  'twoAccounts',
  'returnedAtOnce',
  'afterADay',
  'withoutRight',
  'goesOn',
  'stranger',
  'lastMoment',
  'steady',
] as const;

const LATER_STORIES = ['settledPart', 'crossing', 'spoiled', 'ownTimeouts'] as const;

export type StoryName = (typeof STORIES)[number] | (typeof LATER_STORIES)[number];

/**
 * Undefined: the world has none, as most.
 *
 * @param later for those that came later, so that the seeds of before still have theirs
 */
export function drawStory(random: Random, later: Random): StoryName | undefined {
  if (random.chance(TOLD)) return random.oneOf(STORIES);
  return later.chance(TOLD_LATER) ? later.oneOf(LATER_STORIES) : undefined;
}

/** How the people of one world behave. */
export interface Habits {
  /** Pieces of the only SKU. */
  readonly stock: number;
  /** When orders come after the beginning, from and to. All may come at once. */
  readonly arrival: readonly [fromS: number, toS: number];
  /** Shares of orders: placed in a host's transaction, canceled, extended, looked up by their page, never closed by themselves. */
  readonly hosted: number;
  /** How often the host's code fails. */
  readonly failing: number;
  readonly canceled: number;
  readonly extended: number;
  readonly looked: number;
  readonly manual: number;
  /** Of orders, the share that is erased as soon as it has ended. */
  readonly erased: number;
  /** Of orders, the share that is paid before it is placed. */
  readonly early: number;
  /** A host holds the rows of an order. */
  readonly held: boolean;
  readonly attempts: Weights<number>;
  readonly registers: Weights<'before' | 'late' | 'never'>;
  /** Of attempts, the share that is registered before the buyer gets them, and again when he does. */
  readonly heldBack: number;
  /** Of attempts, the share that the bank hears of only later, and of those that begin when the deadline is near, or over. */
  readonly slow: number;
  readonly lingering: number;
  /** How often a buyer pays one attempt, and how much. */
  readonly pays: Weights<number>;
  readonly amounts: Weights<bigint>;
  /** Of payments, the share that is in another currency than the order. */
  readonly foreign: number;
  /** Of payments, the share that a shop reports; of reports, those that name another order. */
  readonly reported: number;
  /** Of attempts, the share that is reported before it is paid. */
  readonly hasty: number;
  readonly mistaken: number;
  /** Of mistaken reports, the share that comes beside the right one. */
  readonly twinned: number;
  readonly operators: boolean;
  /** Of the attempts of buyers, the share that is told to the shop as paid, and fails. */
  readonly bouncing: number;
  /** Customers transfer money to a bank that no instance can ask. */
  readonly transfers: boolean;
  /** Whoever finds the goods sold out asks again. */
  readonly patient: boolean;
  /** Operators act within seconds, and often. */
  readonly hurried: boolean;
  /** Shops mostly report payments by their ids, under references that are not theirs. */
  readonly blurred: boolean;
  /** What a person wires back comes from an account of another bank, so that this one does not know of it. */
  readonly elsewhere: boolean;
}

/** @param apart for what came later, so that the seeds of before still draw the rest as they did */
export function drawHabits(random: Random, swarm: Swarm, apart: Random): Habits {
  const share = (): number => swarm.draw(0, [1, 0.3], [1, 0.8]);
  const hosted = share();
  // prettier-ignore
  return {
    stock: random.pick([2, MANY], [1, 3], [1, 1]),
    hosted,
    failing: random.chance(hosted > 0 ? 0.5 : 0.1) ? random.pick([1, 0.1], [1, 0.4]) : 0,
    canceled: share(),
    extended: share(),
    looked: share(),
    manual: share(),
    erased: share(),
    early: swarm.draw(0, [1, 0.5]),
    arrival: swarm.draw<Habits['arrival']>(random.pick([1, [0, 20]], [1, [0, 90]]), [1, [8, 8]]),
    held: swarm.has(),
    attempts: swarm.draw<Weights<number>>([[1, 1]], [1, [[2, 1], [1, 2]]], [1, [[1, 2], [1, 3]]]),
    registers: swarm.draw<Habits['registers']>([[1, 'before']],
      [1, [[2, 'before'], [1, 'late'], [1, 'never']]],
      [1, [[1, 'before'], [3, 'late']]],
      [1, [[1, 'before'], [1, 'never']]],
    ),
    heldBack: share(),
    slow: share(),
    lingering: share(),
    pays: swarm.draw<Weights<number>>([[2, 0], [3, 1]], [1, [[1, 1], [1, 2]]]),
    amounts: swarm.draw<Weights<bigint>>([[1, PRICE]],
      [1, [[3, PRICE], [1, PRICE / 2n], [1, 2n * PRICE]]],
      [1, [[1, PRICE], [2, PRICE / 2n]]],
      [1, [[1, PRICE], [2, 2n * PRICE]]],
    ),
    foreign: share(),
    reported: share(),
    hasty: share(),
    mistaken: random.pick([1, 0], [1, 0.3], [1, 0.7]),
    twinned: share(),
    operators: swarm.has(),
    bouncing: share(),
    transfers: swarm.has(),
    patient: apart.chance(RARE),
    hurried: apart.chance(RARE),
    blurred: apart.chance(RARE),
    elsewhere: apart.chance(RARE),
  };
}

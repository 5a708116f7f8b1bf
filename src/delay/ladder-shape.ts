import { InvalidOptionsError } from '../errors';
import { type QueueType } from '../rabbit';
import { countDigits } from './ladder-digits';

/** Ten years: the broker's longest TTL (315 360 000 000 ms), and the longest deadline. */
const LONGEST_MS = 315_360_000_000;
/** Two decimal digits name every value of a level. A larger base would save too few hops for its queues. */
const LARGEST_BASE = 100;
const DAY_MS = 86_400_000;

/** The ladder's dimensions. The defaults need 147 queues, and 30 min take two hops. */
export interface LadderOptions {
  /** Values per level. More means fewer hops (each is a replicated write) and more queues. @default 64 */
  readonly base?: number;
  /** The finest delay on the broker, milliseconds. The consumer waits for the rest. @default 1000 */
  readonly unitMs?: number;
  /** The longest delay in one pass, milliseconds. No queues are declared for longer delays. @default 86400000 (24 h) */
  readonly horizonMs?: number;
  /** `classic` loses messages that expire while a node dies; it is enough for a single node. @default 'quorum' */
  readonly queueType?: QueueType;
}

/** A ladder's resolved dimensions, and the values that follow from them. */
export interface LadderShape {
  readonly base: number;
  readonly unitMs: number;
  readonly queueType: QueueType;
  /** Number of levels: digit positions 0 to levels − 1. */
  readonly levels: number;
  /** The largest value of the top level. The levels below have base − 1. */
  readonly topDigit: number;
  /** The longest delay in one pass, in units. */
  readonly maxUnits: number;
  /**
   * Digits in a routing key. Depends on base and unit only, not on the horizon: processes with different horizons (a
   * rolling deployment) share one ladder, and their keys must mean the same.
   */
  readonly keyWidth: number;
}

/** Finds what is wrong with the given dimensions, one sentence each. Checked at startup together with other options. */
export function findLadderProblems(options: LadderOptions): string[] {
  const { base, unitMs, horizonMs } = withDefaults(options);
  const problems: string[] = [];
  if (!isIntegerIn(base, 2, LARGEST_BASE)) problems.push(`base must be an integer 2 to ${LARGEST_BASE} (got ${base})`);
  if (!isIntegerIn(unitMs, 1, DAY_MS)) problems.push(`unitMs must be an integer 1 to ${DAY_MS} (got ${unitMs})`);
  if (!(horizonMs >= unitMs && horizonMs <= LONGEST_MS)) {
    problems.push(`horizonMs must be between unitMs (${unitMs}) and ${LONGEST_MS} (got ${horizonMs})`);
  }
  return problems;
}

/** @throws InvalidOptionsError that names every invalid dimension. */
export function resolveLadderShape(options: LadderOptions = {}): LadderShape {
  const problems = findLadderProblems(options);
  if (problems.length > 0) throw new InvalidOptionsError('ladder', problems);

  const { base, unitMs, horizonMs, queueType } = withDefaults(options);
  const neededUnits = Math.floor(horizonMs / unitMs);
  const levels = countDigits(neededUnits, base);
  const topStep = base ** (levels - 1);
  const topDigit = Math.floor(neededUnits / topStep);
  return Object.freeze({
    base,
    unitMs,
    queueType,
    levels,
    topDigit,
    maxUnits: (topDigit + 1) * topStep - 1,
    keyWidth: countDigits(Math.floor(LONGEST_MS / unitMs), base),
  });
}

function withDefaults(options: LadderOptions): Required<LadderOptions> {
  const { base = 64, unitMs = 1000, horizonMs = DAY_MS, queueType = 'quorum' } = options;
  return { base, unitMs, horizonMs, queueType };
}

function isIntegerIn(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

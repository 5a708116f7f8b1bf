import { InvalidOptionsError } from '../errors';
import { type QueueType } from '../rabbit';
import { countDigits } from './ladder-digits';

/** Ten years: the broker's longest TTL (315 360 000 000 ms), and the longest deadline. */
const LONGEST_MS = 315_360_000_000;
/** Two decimal digits name every value of a level; a larger base saves no hops worth its queues. */
const LARGEST_BASE = 100;
const DAY_MS = 86_400_000;

/** The ladder's measures. The defaults need 147 queues; 30 min take two hops. */
export interface LadderOptions {
  /** Values per level. More means fewer hops (each is a replicated write) and more queues. @default 64 */
  readonly base?: number;
  /** The finest wait on the broker, milliseconds; the rest is held by the consumer. @default 1000 */
  readonly unitMs?: number;
  /** The longest wait in one pass, milliseconds; no queue is made for more. @default 86400000 (24 h) */
  readonly horizonMs?: number;
  /** `classic` loses what expires while a node dies; enough for a single node. @default 'quorum' */
  readonly queueType?: QueueType;
}

/** A ladder's resolved measures, and what follows from them. */
export interface LadderShape {
  readonly base: number;
  readonly unitMs: number;
  readonly queueType: QueueType;
  /** Levels that exist: digit positions 0 … levels − 1. */
  readonly levels: number;
  /** The largest value of the top level; the levels below have base − 1. */
  readonly topDigit: number;
  /** The longest wait in one pass, in units. */
  readonly maxUnits: number;
  /**
   * Digits in a routing key. Follows from base and unit only, never from the horizon: two processes with
   * different horizons (a rolling deployment) share one ladder, and their keys must mean the same.
   */
  readonly keyWidth: number;
}

/** What is wrong with the given measures, one sentence each; for checking them at boot, together with other options. */
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

/** @throws InvalidOptionsError naming every bad measure. */
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

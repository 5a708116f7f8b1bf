import { type z } from 'zod';
import { assertNever, integer, oneOf, optionsOf, parseOptions } from '../errors';
import { QUEUE_TYPES, type Channel, type ExpectedQueue, type QueueType, type TopologyNames } from '../rabbit';
import { type DelayRoute, type DelayTransport, assertDelay, straightToWork } from './delay-transport';

/**
 * Makes any delay from queues with fixed TTLs. The delay, in units of `unitMs`, is written as digits, and every
 * non-zero digit is one wait in one queue. All messages of a queue wait equally long, so the first in is the first out,
 * and no message waits behind a longer one. The delay is rounded down, and the consumer waits for the rest.
 */
export class Ladder implements DelayTransport {
  readonly name = 'ladder';
  readonly maxDelayMs: number;
  readonly maxEarlyMs: number;
  private readonly shape: LadderShape;
  private readonly ladderNames: LadderNames;

  /** @throws InvalidOptionsError that names every invalid dimension. */
  constructor(
    private readonly names: TopologyNames,
    options: LadderOptions = {},
  ) {
    this.shape = resolveLadderShape(options);
    this.ladderNames = new LadderNames(names, this.shape);
    this.maxDelayMs = this.shape.maxUnits * this.shape.unitMs;
    this.maxEarlyMs = this.shape.unitMs;
  }

  get address(): string {
    return this.ladderNames.stem;
  }

  /** The exchange where waits end, which brings wake-ups to the work queues. */
  get delivery(): string {
    return this.ladderNames.delivery;
  }

  /** The queues that `declare` declares. */
  get queues(): ExpectedQueue[] {
    return this.steps.flatMap((step) => (step.type === 'queue' ? [this.expectedQueue(step)] : []));
  }

  /** The names of the exchanges that `declare` declares. */
  get exchanges(): string[] {
    return this.steps.flatMap((step) => (step.type === 'exchange' ? [step.name] : []));
  }

  async declare(channel: Channel): Promise<void> {
    // The channel sends one request at a time, in this order. Not awaiting each saves a turn of the event loop.
    await Promise.all(this.steps.map((step) => this.declareStep(channel, step)));
  }

  async bindKind(channel: Channel, kind: string, workQueue: string): Promise<void> {
    await channel.bindQueue(workQueue, this.ladderNames.delivery, this.ladderNames.kindPattern(kind));
  }

  route(kind: string, delayMs: number): DelayRoute {
    assertDelay(delayMs);
    const { base, unitMs, maxUnits, keyWidth } = this.shape;
    const units = Math.min(Math.floor(delayMs / unitMs), maxUnits);
    if (units <= 0) return straightToWork(this.names, kind);
    const digits = toDigits(units, base, keyWidth);
    return {
      exchange: this.ladderNames.level(digits.findLastIndex((digit) => digit > 0)),
      routingKey: this.ladderNames.key(digits, kind),
      mandatory: true,
    };
  }

  private get steps(): LadderStep[] {
    return planLadder(this.shape, this.ladderNames);
  }

  private expectedQueue({ name, ttlMs, deadLetterTo }: Extract<LadderStep, { type: 'queue' }>): ExpectedQueue {
    const waiting = { 'x-message-ttl': ttlMs, 'x-dead-letter-exchange': deadLetterTo };
    return { name, arguments: { ...delayQueueArguments(this.shape.queueType), ...waiting } };
  }

  private async declareStep(channel: Channel, step: LadderStep): Promise<unknown> {
    switch (step.type) {
      case 'exchange':
        // Unroutable messages must be parked. At-least-once dead-lettering that finds no queue is retried only after
        // 180 s and blocks everything behind it in its queue (measured: 0 of 5 good messages in 8 s).
        return channel.assertExchange(step.name, 'topic', { durable: true, alternateExchange: this.names.parked });
      case 'pass':
        return channel.bindExchange(step.destination, step.source, step.pattern);
      case 'queue':
        return Promise.all([
          channel.assertQueue(step.name, {
            durable: true,
            messageTtl: step.ttlMs,
            deadLetterExchange: step.deadLetterTo,
            arguments: delayQueueArguments(this.shape.queueType),
          }),
          channel.bindQueue(step.name, step.source, step.pattern),
        ]);
      default:
        return assertNever(step);
    }
  }
}

function delayQueueArguments(queueType: QueueType): Record<string, unknown> {
  if (queueType === 'classic') return { 'x-queue-type': 'classic' };
  // If one of the three is missing, dead-lettering silently falls back to at-most-once and loses messages while a node
  // is down.
  return { 'x-queue-type': 'quorum', 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' };
}

/** One object that a ladder declares. */
type LadderStep =
  | { readonly type: 'exchange'; readonly name: string }
  | { readonly type: 'pass'; readonly source: string; readonly destination: string; readonly pattern: string }
  | {
      readonly type: 'queue';
      readonly name: string;
      readonly ttlMs: number;
      readonly deadLetterTo: string;
      readonly source: string;
      readonly pattern: string;
    };

/**
 * All objects of a ladder, from the delivery end upward, so that no step leads to an object that does not exist yet. A
 * digit `v` > 0 is a queue that waits v·base^position units; a digit 0 passes to the next exchange.
 */
function planLadder(shape: LadderShape, names: LadderNames): LadderStep[] {
  const steps: LadderStep[] = [{ type: 'exchange', name: names.delivery }];
  for (let position = 0; position < shape.levels; position++) {
    const source = names.level(position);
    const below = names.level(position - 1);
    steps.push({ type: 'exchange', name: source });
    steps.push({ type: 'pass', source, destination: below, pattern: names.digitPattern(position, 0) });
    for (let value = 1; value <= largestValue(shape, position); value++) {
      steps.push({
        type: 'queue',
        name: names.queue(position, value),
        ttlMs: value * shape.base ** position * shape.unitMs,
        deadLetterTo: below,
        source,
        pattern: names.digitPattern(position, value),
      });
    }
  }
  return steps;
}

function largestValue({ base, levels, topDigit }: LadderShape, position: number): number {
  return position === levels - 1 ? topDigit : base - 1;
}

/**
 * Names of a ladder's exchanges and queues. A queue's arguments cannot be changed, so every dimension that differs from
 * the default is part of the name: `<p>.delay.1.05` by default, `<p>.delay-b4-u50-classic.1.05` otherwise. After a
 * change of dimensions, the old ladder still delivers its waiting messages alongside the new one.
 */
class LadderNames {
  /** Start of every name. */
  readonly stem: string;

  constructor(
    names: TopologyNames,
    private readonly shape: LadderShape,
  ) {
    this.stem = names.delay + suffixOf(shape);
  }

  /** Topic exchange where every wait ends. The routing key consists of all digits and the kind. */
  get delivery(): string {
    return `${this.stem}.delivery`;
  }

  /** Topic exchange of one digit position. Below position 0 is the delivery exchange. */
  level(position: number): string {
    return position < 0 ? this.delivery : `${this.stem}.${position}`;
  }

  queue(position: number, value: number): string {
    return `${this.level(position)}.${String(value).padStart(2, '0')}`;
  }

  /** Routing key of a wake-up: the digits, most significant first, then the kind. */
  key(digits: readonly number[], kind: string): string {
    return `${digits.toReversed().join('.')}.${kind}`;
  }

  /** Pattern of the routing keys that have `value` at `position`. */
  digitPattern(position: number, value: number): string {
    return `${'*.'.repeat(this.shape.keyWidth - 1 - position)}${value}.#`;
  }

  /** Pattern of the routing keys of exactly this kind. `#.b` would also match those of kind `a.b`. */
  kindPattern(kind: string): string {
    return `${'*.'.repeat(this.shape.keyWidth)}${kind}`;
  }
}

function suffixOf({ base, unitMs, queueType }: LadderShape): string {
  const usual = resolveLadderShape();
  const measures = base === usual.base && unitMs === usual.unitMs ? '' : `-b${base}-u${unitMs}`;
  return queueType === usual.queueType ? measures : `${measures}-${queueType}`;
}

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
interface LadderShape extends Required<Omit<LadderOptions, 'horizonMs'>> {
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

/** The dimensions that all processes of a broker must agree on. */
export const ladderOptions = optionsOf({
  base: integer(2, LARGEST_BASE).default(64),
  unitMs: integer(1, DAY_MS, ' milliseconds').default(1_000),
});

const allOptions = ladderOptions
  .extend({
    horizonMs: integer(1, LONGEST_MS, ' milliseconds').default(DAY_MS),
    queueType: oneOf(QUEUE_TYPES).default('quorum'),
  } satisfies Partial<Record<keyof LadderOptions, z.ZodType>>)
  .superRefine(({ horizonMs, unitMs }, context) => {
    const problem = findHorizonProblem(horizonMs, unitMs);
    if (problem !== undefined) context.addIssue({ code: 'custom', path: ['horizonMs'], message: problem });
  });

/** What is wrong with a horizon because of the unit, if anything. */
export function findHorizonProblem(horizonMs: number, unitMs: number): string | undefined {
  return horizonMs < unitMs ? `must be at least the ladder's unitMs, ${unitMs} (got ${horizonMs})` : undefined;
}

/** @throws InvalidOptionsError that names every invalid dimension. */
function resolveLadderShape(options: LadderOptions = {}): LadderShape {
  const { base, unitMs, horizonMs, queueType } = parseOptions('ladder', allOptions, options);
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

/** The digits of an integer from 0 to base^width − 1, least significant first, exactly `width` of them. */
export function toDigits(value: number, base: number, width: number): number[] {
  const digits: number[] = [];
  let rest = value;
  for (let position = 0; position < width; position++) {
    digits.push(rest % base);
    rest = Math.floor(rest / base);
  }
  return digits;
}

/** How many digits `value` takes in the given base; at least one. */
export function countDigits(value: number, base: number): number {
  let count = 1;
  for (let rest = Math.floor(value / base); rest > 0; rest = Math.floor(rest / base)) count++;
  return count;
}

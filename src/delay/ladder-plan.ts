import { type LadderNames } from './ladder-names';
import { type LadderShape } from './ladder-shape';

/** One object that a ladder declares. */
export type LadderStep =
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
export function planLadder(shape: LadderShape, names: LadderNames): LadderStep[] {
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

import { type TimeoutRef } from '../api/attention-contract';

/** One text for a timeout. Neither part contains a line break. */
export function keyOf({ kind, key }: TimeoutRef): string {
  return `${kind}\n${key}`;
}

/** Of the measures in campaign-environment.ts, see src/delay/ladder.ts. */
export const LADDER = 'delay-b16-u1000';
const LEVELS = 2;
const VALUES = 15;

/** Without the prefix. */
export function ladderQueues(): string[] {
  const values = Array.from({ length: VALUES }, (_, index) => String(index + 1).padStart(2, '0'));
  return Array.from({ length: LEVELS }, (_, level) => values.map((value) => `${LADDER}.${level}.${value}`)).flat();
}

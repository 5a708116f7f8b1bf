/** Median, lowest and highest of the rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Pure; undefined without any value. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  const [min] = sorted;
  const max = sorted.at(-1);
  if (upper === undefined || lower === undefined || min === undefined || max === undefined) return undefined;
  return { median: (upper + lower) / 2, min, max };
}

/** Pure: p50, p99 and the latest; milliseconds. */
export function spreadOfLateness(values: readonly number[]): { p50Ms: number; p99Ms: number; maxMs: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

const STEPS = [1, 2, 5, 10];

/** From `min` to `max`, with four to eight round numbers between. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
}

/** The smallest scale from 0 that holds the numbers. */
export function scaleFor(values: readonly number[]): Scale {
  const highest = Math.max(...values, 0) || 1;
  const size = 10 ** Math.floor(Math.log10(highest / 4));
  const step = size * (STEPS.find((each) => highest / (size * each) <= 4) ?? 10);
  const count = Math.ceil(highest / step);
  return { min: 0, max: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** What a service process holds after a forced garbage collection, in bytes. */
export interface Sample {
  readonly atMs: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** Sockets, servers and timers that are open. */
  readonly resources: number;
}

/** Least squares: how much a value grows in a minute. Samples: at least two, at different times. */
export function growthPerMinute(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
  const times = samples.map(({ atMs }) => atMs / 60_000);
  const values = samples.map(value);
  const [atMean, valueMean] = [mean(times), mean(values)];
  const spread = times.reduce((sum, at) => sum + (at - atMean) ** 2, 0);
  return times.reduce((sum, at, index) => sum + (at - atMean) * ((values[index] ?? 0) - valueMean), 0) / spread;
}

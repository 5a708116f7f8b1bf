/** What one run measured, by metric: `perSecond`, `p99Ms`, `bytesPerOrder` and the like. */
export type Sample = Readonly<Record<string, number>>;

/** What a run may use. */
export interface Ring {
  /** A database of this run's own, empty; deleted after it. Durability is the server's default: fsync for each commit. */
  readonly databaseUrl: string;
  /** A virtual host of this run's own, on the broker that the contestant asks for. */
  readonly amqpUrl: string;
  /** The management API of that broker, with user and password. */
  readonly managementUrl: string;
  /** Where that broker keeps its data. */
  readonly brokerFolder: string;
  /** For logs; deleted at the end of the benchmark unless something failed. */
  readonly folder: string;
  /** Smaller numbers, to see that everything works. Its figures mean nothing. */
  readonly isShort: boolean;
  /** Where CPU profiles and statement statistics of the product go, if they are wanted. They cost speed. */
  readonly profileFolder: string | undefined;
  readonly signal: AbortSignal;
  say(line: string): void;
}

/** Somebody who does the workload. */
export interface Contestant {
  readonly name: string;
  /** `floor`: the same statements or messages without anything around them. */
  readonly role: 'product' | 'peer' | 'floor';
  /** `plugin`: with the exchange type x-delayed-message. @default 'plain' */
  readonly broker?: 'plain' | 'plugin';
  /** One round. Contestants of a workload take turns, so each run starts and ends everything it needs. */
  run(ring: Ring): Promise<Sample>;
}

/** One thing that is measured, side by side. */
export interface Workload {
  /** `B3`, as the command line and the table name it. */
  readonly id: string;
  readonly title: string;
  readonly contestants: readonly Contestant[];
  /** What the table says, in this order; ratios are of the medians. */
  readonly metrics: readonly Metric[];
  readonly targets?: readonly Target[];
  /** For a workload whose one round takes many minutes. */
  readonly maxRounds?: number;
}

/** A column of a workload's table. */
export interface Metric {
  /** Of the sample. */
  readonly key: string;
  readonly title: string;
  readonly better: 'higher' | 'lower';
  /** False: only a figure, as product ÷ other would say nothing. @default true */
  readonly hasRatio?: boolean;
}

/** Medians of the workloads that have run. */
export interface Medians {
  /** Of one contestant; undefined where it did not run, or did not measure this. */
  of(contestant: string, metric: string): number | undefined;
  /** The highest of all contestants in a role. */
  highest(role: Contestant['role'], metric: string): number | undefined;
  /** Of another workload. */
  workload(id: string): Medians;
}

/** What the project has set itself. Missing it is no error: a benchmark is no test. */
export interface Target {
  /** `B3 ≥ 8 × the best peer's real work`. */
  readonly says: string;
  /** Undefined: not to be said, as something did not run. */
  judge(medians: Medians): { readonly value: number; readonly isMet: boolean } | undefined;
}

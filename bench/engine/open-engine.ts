import { type DynamicModule, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource, type DataSourceOptions, type EntityManager } from 'typeorm';
import { type DelayTransportSetting, migrate, PreparingClient } from '../../src';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutHandlerOptions,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
  TimeoutScheduler,
  type ScheduleTimeout,
  TimeoutsModule,
} from '../../src/public/timeouts';

interface Job {
  readonly index: number;
  readonly dueAtMs: number;
}

type Query = (sql: string, values?: unknown[]) => Promise<unknown[]>;
type Handle = (jobs: readonly Job[], query: Query) => Promise<unknown> | void;

/** What bench/peers/shapes.mjs asks of everybody. */
interface EnginePeer {
  schedule(job: Job): Promise<unknown>;
  scheduleMany(jobs: readonly Job[]): Promise<unknown>;
  work(handle: Handle): Promise<void>;
  waiting(): Promise<number>;
  close(): Promise<void>;
}

interface EngineTask {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly shape: string;
  readonly transport: DelayTransportSetting;
  /** One job at a time, in a handler with `handle` instead of `handleBatch`. */
  readonly isSingle?: boolean;
  /** A transaction for each, ten at once. */
  readonly isAlone?: boolean;
}

const KIND = 'bench.job';
/** The same for every contestant that has a pool. */
const POOL_SIZE = 10;

const ignore = (): void => undefined;
const SILENT: LoggerService = {
  log: ignore,
  warn: (line: unknown) => process.stderr.write(`${String(line)}\n`),
  error: (line: unknown) => process.stderr.write(`${String(line)}\n`),
};

/** The module of the product's bare engine in a host of its own, with default options. */
export async function openEngine(task: EngineTask): Promise<EnginePeer> {
  const schema = `engine_${task.shape}`;
  const options: DataSourceOptions = {
    type: 'postgres',
    url: task.databaseUrl,
    poolSize: POOL_SIZE,
    entities: [],
    extra: { Client: PreparingClient },
  };
  const dataSource = await new DataSource(options).initialize();
  await migrate(dataSource, schema);
  const host = { handle: ((): void => undefined) as Handle };
  const context = await NestFactory.createApplicationContext(moduleOf(task, dataSource, schema, host), {
    logger: SILENT,
    abortOnError: false,
  });
  const scheduler = context.get(TimeoutScheduler);
  const scheduleMany = (jobs: readonly Job[]): Promise<unknown> =>
    dataSource.transaction((tx) => scheduler.schedule(jobs.map(requestOf), { tx }));
  return {
    schedule: (job) => scheduler.schedule([requestOf(job)]),
    scheduleMany,
    work: async (handle) => void (host.handle = handle),
    waiting: async () => {
      const [row] = await dataSource.query<{ count: number }[]>(`SELECT count(*)::int AS count FROM ${schema}.timeout`);
      return row?.count ?? 0;
    },
    close: async () => {
      await context.close();
      await dataSource.destroy();
    },
  };
}

function moduleOf(task: EngineTask, dataSource: DataSource, schema: string, host: { handle: Handle }): DynamicModule {
  @Module({})
  class HostModule {}
  const { transport, amqpUrl } = task;
  // As the workers of the others: where jobs are only scheduled, none is there.
  const consume = task.shape === 'fire' || task.shape === 'close';
  const library = TimeoutsModule.forRoot({ dataSource, schema, transport, consume, rabbit: { urls: [amqpUrl] } });
  const handler = task.isSingle ? singleHandler(host, task.isAlone ? ALONE : {}) : batchHandler(host);
  return { module: HostModule, imports: [library], providers: [{ provide: KIND, useValue: handler }] };
}

function batchHandler(host: { readonly handle: Handle }): TimeoutHandlerBatch {
  @TimeoutHandler(KIND)
  class BatchHandler implements TimeoutHandlerBatch {
    async handleBatch(timeouts: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
      await host.handle(timeouts.map(jobOf), (sql, values) => tx.query(sql, values));
      return timeouts.map(() => DONE);
    }
  }
  return new BatchHandler();
}

const ALONE: TimeoutHandlerOptions = { batchSize: 1, concurrency: POOL_SIZE };

function singleHandler(host: { readonly handle: Handle }, options: TimeoutHandlerOptions): TimeoutHandlerSingle {
  @TimeoutHandler(KIND, options)
  class SingleHandler implements TimeoutHandlerSingle {
    async handle(timeout: DueTimeout, tx: EntityManager): Promise<void> {
      await host.handle([jobOf(timeout)], (sql, values) => tx.query(sql, values));
    }
  }
  return new SingleHandler();
}

const requestOf = (job: Job): ScheduleTimeout => ({
  kind: KIND,
  key: `job-${job.index}`,
  dueAt: new Date(job.dueAtMs),
  payload: { ...job },
});

const jobOf = ({ payload, dueAt }: DueTimeout): Job => ({ index: Number(payload.index), dueAtMs: dueAt.getTime() });

import { randomUUID } from 'node:crypto';
import { ConsoleLogger, type LoggerService } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  type DueTimeout,
  type SettledRow,
  TimeoutEngine,
  TimeoutObservers,
  TimeoutScheduler,
  TimeoutsModule,
  type TimeoutsOptions,
} from '../../src/timeouts';
import { isContention, isDatabaseUnavailable } from '../../src/database';
import { Patience } from './machine-load';
import { type TestDatabase } from './database';

/** TEST_LOGS=1 shows what the engine says. */
const ignore = (): void => undefined;
const SILENT: LoggerService = { log: ignore, warn: ignore, error: ignore };

/** A running engine with the given handlers, on a database and broker of the test's own. */
export interface TestEngine {
  readonly module: TestingModule;
  readonly scheduler: TimeoutScheduler;
  readonly engine: TimeoutEngine;
  readonly settled: Recorder;
  close(): Promise<void>;
}

/** Resolves when a condition on what was settled holds; the tests' replacement for sleeping. A busy machine gets longer. */
export class Recorder {
  readonly rows: (SettledRow & { lateMs: number })[] = [];
  private readonly waiting = new Set<() => void>();

  add(rows: readonly SettledRow[], nowMs: number): void {
    for (const row of rows) this.rows.push({ ...row, lateMs: nowMs - row.due.dueAt.getTime() });
    for (const check of this.waiting) check();
  }

  until(isEnough: (rows: Recorder['rows']) => boolean, timeoutMs = 15_000): Promise<Recorder['rows']> {
    const patience = new Patience(timeoutMs);
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout;
      const waitOn = (): void => {
        if (patience.leftMs > 0) return void (timer = setTimeout(waitOn, patience.leftMs));
        this.waiting.delete(check);
        const last = JSON.stringify(this.rows.slice(-5));
        reject(new Error(`not reached within ${patience.limitMs} ms; settled: ${last}`));
      };
      const check = (): void => {
        if (!isEnough(this.rows)) return;
        clearTimeout(timer);
        this.waiting.delete(check);
        resolve(this.rows);
      };
      waitOn();
      this.waiting.add(check);
      check();
    });
  }

  done(count: number, timeoutMs?: number): Promise<Recorder['rows']> {
    return this.until((rows) => rows.filter(({ outcome }) => outcome.type === 'done').length >= count, timeoutMs);
  }
}

export async function startEngine(
  database: TestDatabase,
  rabbitUrl: string,
  handlers: object[],
  options: Partial<TimeoutsOptions> = {},
): Promise<TestEngine> {
  const module = await Test.createTestingModule({
    imports: [
      TimeoutsModule.forRoot({
        dataSource: database.dataSource,
        rabbit: { urls: [rabbitUrl], queueType: 'classic' },
        transport: 'ladder',
        horizonMs: 60_000,
        ladder: { base: 8 },
        shutdownTimeoutMs: 3_000,
        ...options,
      }),
    ],
    providers: handlers.map((handler) => ({ provide: randomUUID(), useValue: handler })),
  })
    .setLogger(process.env.TEST_LOGS ? new ConsoleLogger() : SILENT)
    .compile();
  const settled = new Recorder();
  module.get(TimeoutObservers).add({
    settled: (_kind, rows, nowMs) => settled.add(rows, nowMs),
  });
  await module.init();
  return {
    module,
    settled,
    scheduler: module.get(TimeoutScheduler),
    engine: module.get(TimeoutEngine),
    close: () => module.close(),
  };
}

/** Sends sixty at a time until an answer is as wanted: a rate is exceeded only by as many as a busy machine answers at once. */
export async function firstThat<T>(send: (at: number) => PromiseLike<T>, isWanted: (answer: T) => boolean): Promise<T> {
  const patience = new Patience(15_000);
  for (;;) {
    const found = (await Promise.all(Array.from({ length: 60 }, (_, at) => send(at)))).find(isWanted);
    if (found !== undefined) return found;
    if (patience.leftMs <= 0) throw new Error(`no answer was as wanted within ${patience.limitMs} ms`);
  }
}

/** What a busy machine refuses is repeated, as a client does. */
export async function untilServed<T>(work: () => Promise<T>): Promise<T> {
  const patience = new Patience(60_000);
  for (;;)
    try {
      return await work();
    } catch (error) {
      const isBusy = isContention(error) || isDatabaseUnavailable(error);
      if (!isBusy || patience.leftMs <= 0) throw error;
    }
}

export { until } from './until';
export type { DueTimeout };

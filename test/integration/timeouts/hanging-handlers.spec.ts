import { type EntityManager } from 'typeorm';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { stretched } from '../../support/machine-load';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** Half of a limit must be more than a statement takes, or the database is blamed. */
const LIMITS = { single: stretched(1_000), batch: stretched(500) };
const never = (): Promise<never> => new Promise(() => undefined);
const hangs = ({ key }: DueTimeout): boolean => key.startsWith('hang');

@TimeoutHandler('hang.single', { runTimeoutMs: LIMITS.single, maxAttempts: 2 })
class Single implements TimeoutHandlerSingle {
  started = 0;

  async handle(due: DueTimeout, tx: EntityManager): Promise<void> {
    await tx.query('INSERT INTO effect VALUES ($1)', [due.key]);
    if (!hangs(due)) return;
    this.started++;
    await never();
  }
}

@TimeoutHandler('hang.batch', { runTimeoutMs: LIMITS.batch })
class Batch implements TimeoutHandlerBatch {
  async handleBatch(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    for (const { key } of due) await tx.query('INSERT INTO effect VALUES ($1)', [key]);
    if (due.some(hangs)) await never();
    return due.map(() => DONE);
  }
}

/** Goes on after it was given up, as somebody whose remote call is answered at last. */
@TimeoutHandler('hang.late', { runTimeoutMs: 300, maxAttempts: 1 })
class Late implements TimeoutHandlerSingle {
  /** Of each call: a slow database has it called again. */
  readonly calls: { wakeUp: () => void; lateWrite?: Promise<unknown> }[] = [];

  async handle({ key }: DueTimeout, tx: EntityManager): Promise<void> {
    await tx.query('INSERT INTO effect VALUES ($1)', [key]);
    const call: Late['calls'][number] = { wakeUp: () => undefined };
    this.calls.push(call);
    await new Promise<void>((resolve) => (call.wakeUp = resolve));
    call.lateWrite = tx.query('INSERT INTO effect VALUES ($1)', [`${key}, too late`]);
    await call.lateWrite;
  }
}

/** Takes a statement that fails for nothing, and ends. */
@TimeoutHandler('hang.tolerant', { runTimeoutMs: 300, statementTimeoutMs: 5_000, maxAttempts: 1 })
class Tolerant implements TimeoutHandlerSingle {
  async handle({ key }: DueTimeout, tx: EntityManager): Promise<void> {
    const first = tx.query('SELECT pg_sleep(0.6)');
    await new Promise((resolve) => setTimeout(resolve, 450));
    await tx.query('INSERT INTO effect VALUES ($1)', [key]).catch(() => undefined);
    await first;
  }
}

/** Slow is not hanging: the server takes the time. */
@TimeoutHandler('hang.slow', { runTimeoutMs: 400, maxAttempts: 1 })
class Slow implements TimeoutHandlerSingle {
  sleepS = 0.6;
  statementLimit = '';

  async handle({ key }: DueTimeout, tx: EntityManager): Promise<void> {
    const [row] = await tx.query<{ value: string }[]>(`SELECT current_setting('statement_timeout') AS value`);
    this.statementLimit = row?.value ?? '';
    await tx.query('SELECT pg_sleep($1)', [this.sleepS]);
    await tx.query('INSERT INTO effect VALUES ($1)', [key]);
  }
}

describe('the engine with a handler that does not end', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  const single = new Single();
  const late = new Late();
  const slow = new Slow();

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE effect (key text)');
    engine = await startEngine(database, vhost.url, [single, new Batch(), late, slow, new Tolerant()], {
      sweep: { intervalMs: 500, marginMs: 0 },
    });
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  const schedule = (kind: string, keys: readonly string[]): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind, key, afterMs: 0 })),
        { tx },
      ),
    );
  const effects = async (): Promise<string[]> => {
    const rows = await database.dataSource.query<{ key: string }[]>('SELECT key FROM effect ORDER BY key');
    return rows.map(({ key }) => key);
  };
  const numbered = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${name}-${String(n).padStart(2, '0')}`);
  const outcomesOf = (key: string) => engine.settled.rows.filter(({ due }) => due.key === key);

  it('goes on after twelve calls that never end, and parks each with its reason', async () => {
    const hanging = numbered('hang', 12);
    const good = numbered('good', 30);
    await schedule('hang.single', hanging);
    await until(() => single.started >= 5);
    await schedule('hang.single', good);
    const isGood = (rows: typeof engine.settled.rows) => good.every((key) => rows.some(({ due }) => due.key === key));
    await engine.settled.until(isGood, 8 * LIMITS.single);
    await engine.settled.until(
      (rows) => rows.filter(({ outcome }) => outcome.type === 'park').length === 12,
      25 * LIMITS.single,
    );
    expect(await effects()).toEqual(good);
    for (const key of hanging) {
      expect(outcomesOf(key).map(({ outcome }) => outcome)).toMatchObject([
        {
          type: 'retry',
          attempts: 1,
          reason: expect.stringContaining(`did not end within ${LIMITS.single} ms`) as string,
        },
        { type: 'park', attempts: 2 },
      ]);
    }
  });

  it('settles the others of a batch, and counts nothing for them', async () => {
    const others = numbered('mate', 40);
    await schedule('hang.batch', [...others.slice(0, 20), 'hang-in-batch', ...others.slice(20)]);
    await engine.settled.until(
      (rows) => [...others, 'hang-in-batch'].every((key) => rows.some(({ due }) => due.key === key)),
      10 * LIMITS.batch,
    );
    const rows = others.flatMap(outcomesOf);
    expect(rows).toHaveLength(40);
    expect(rows.every(({ outcome, due }) => outcome.type === 'done' && due.attempts === 0)).toBe(true);
    expect(outcomesOf('hang-in-batch')[0]?.outcome).toMatchObject({ type: 'retry', attempts: 1 });
    expect((await effects()).filter((key) => key.startsWith('mate'))).toEqual(others);
    await database.dataSource.query(`DELETE FROM order_timeout.timeout WHERE key = 'hang-in-batch'`);
  });

  it('rolls back at the server, and lets nothing through that the call writes afterwards', async () => {
    await schedule('hang.late', ['late']);
    const isParked = (rows: typeof engine.settled.rows) =>
      rows.some(({ due, outcome }) => due.key === 'late' && outcome.type === 'park');
    await engine.settled.until(isParked, 10 * LIMITS.single);
    for (const call of late.calls) {
      call.wakeUp();
      await until(() => call.lateWrite !== undefined);
      await expect(call.lateWrite).rejects.toThrow();
    }
    const open = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`;
    await until(async () => (await database.dataSource.query<object[]>(open)).length === 0);
    expect((await effects()).filter((key) => key.startsWith('late'))).toEqual([]);
    const outcomes = outcomesOf('late').map(({ outcome }) => outcome);
    expect(outcomes.pop()?.type).toBe('park');
    for (const outcome of outcomes) expect(outcome).toMatchObject({ type: 'retry', attempts: 0 });
  });

  it('does not take for done what had a statement refused, though the handler did not mind', async () => {
    await schedule('hang.tolerant', ['tolerant']);
    await engine.settled.until((rows) => rows.some(({ due }) => due.key === 'tolerant'), 5_000);
    expect(outcomesOf('tolerant')[0]?.outcome.type).toBe('retry');
    await database.dataSource.query(`DELETE FROM order_timeout.timeout WHERE key = 'tolerant'`);
  });

  it('counts nothing where the database takes the time', async () => {
    await schedule('hang.slow', ['slow']);
    await engine.settled.until((rows) => rows.some(({ due }) => due.key === 'slow'), 5_000);
    expect(outcomesOf('slow')[0]?.outcome).toMatchObject({ type: 'retry', attempts: 0 });
    expect(slow.statementLimit).toBe('400ms');
    slow.sleepS = 0;
    await engine.settled.until((rows) =>
      rows.some(({ due, outcome }) => due.key === 'slow' && outcome.type === 'done'),
    );
  });
});

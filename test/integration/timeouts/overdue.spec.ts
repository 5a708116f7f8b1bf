import { Logger } from '@nestjs/common';
import { Controls } from '../../../src/timeouts/controls/controls';
import { OutcomeRecorder, SettlementQueries } from '../../../src/timeouts/engine/timeout-settler';
import { oldestOverdue, TimeoutSummary } from '../../../src/timeouts';
import { type LookUpAnswers } from '../../../src/timeouts/model/timeout';
import { Outbox } from '../../../src/outbox';
import { dataSourceStub } from '../../support/data-source-stub';
import { createDatabase, type TestDatabase } from '../../support/database';
import { ManualClock } from '../../support/manual-clock';

const SCHEMA = 'order_timeout';
const KIND = 'a.kind';

describe('what is overdue', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    database = await createDatabase();
    await database.dataSource.query('ALTER TABLE order_timeout.timeout SET (autovacuum_enabled = off)');
  });
  afterEach(() => database.dataSource.query('TRUNCATE order_timeout.timeout'));
  afterAll(() => database.drop());

  const insert = (key: string, dueS: number, nextS: number, askedS?: number): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, asked_since)
       VALUES ($1, $2, 1, now() + $3 * interval '1 second', now() + $4 * interval '1 second',
               now() + $5 * interval '1 second')`,
      [KIND, key, dueS, nextS, askedS ?? null],
    );
  /** A handler has tried again later. @param answers none: its provider is paused */
  const retry = (key: string, answers?: LookUpAnswers): Promise<void> => {
    const outbox = new Outbox({ schema: SCHEMA, horizonMs: 60_000 });
    const queries = new SettlementQueries(SCHEMA);
    const recorder = new OutcomeRecorder({ kind: KIND, queries, outbox, leaseMs: 1_000, writesWakeUps: false });
    const due = {
      kind: KIND,
      key,
      generation: '1',
      dueAt: new Date(),
      attempts: 0,
      payload: {},
      cause: 'sweep',
    } as const;
    const outcome = { type: 'retry', attempts: 0, reason: 'not yet', afterMs: 60_000, answers } as const;
    return database.dataSource.transaction((tx) => recorder.record(tx, [{ due, outcome }], 'no lease'));
  };
  const oldest = async (): Promise<number | undefined> => {
    const seconds = (await oldestOverdue(database.dataSource, SCHEMA)).get(KIND);
    return seconds === undefined ? undefined : Math.round(seconds / 10) * 10;
  };
  const count = async (): Promise<number> =>
    (await new TimeoutSummary(database.dataSource, SCHEMA).due(KIND, 2)).overdue;

  it('is measured from when it was to be handled', async () => {
    await insert('due', -5, -5);
    await insert('looked up a day long, and late since ten seconds', -90_000, -10, -90_000);
    expect([await oldest(), await count()]).toEqual([10, 2]);
  });

  it('is measured from the deadline while its provider is paused, however often it is tried again', async () => {
    await insert('waiting', -300, -1, -200);
    await retry('waiting', 'none');
    await insert('waiting from the start', -90, -1);
    await retry('waiting from the start', 'none');
    expect([await oldest(), await count()]).toEqual([300, 2]);
  });

  it('is nothing that is looked up again and again, but the operator page counts its deadline', async () => {
    await insert('looked up', -300, -1, -299);
    await retry('looked up');
    await insert('tried by a handler without a look-up', -300, -1);
    await retry('tried by a handler without a look-up');
    await insert('future', 60, 60);
    await insert('looked up before its deadline', 60, 90, -1);
    expect([await oldest(), await count()]).toEqual([undefined, 2]);
  });

  it('is found by an index among many that are pending', async () => {
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, asked_since)
       SELECT $1, 'key-' || n, n, at, at + CASE WHEN n % 20 = 0 THEN interval '1 day' ELSE interval '0' END, 'epoch'
         FROM generate_series(-20000, 20000) AS n, LATERAL (SELECT now() - n * interval '1 second' AS at) AS t`,
      [KIND],
    );
    await database.dataSource.query('ANALYZE order_timeout.timeout');
    const plan: string[] = [];
    const explaining = dataSourceStub({}, async (sql, values) => {
      const rows = await database.dataSource.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${sql}`, values as unknown[]);
      plan.push(...rows.map((row) => row['QUERY PLAN']));
      return [];
    });
    await oldestOverdue(explaining, SCHEMA);
    await new TimeoutSummary(explaining, SCHEMA).due(KIND, 60);
    expect(plan.filter((line) => line.includes('timeout_undecided'))).toHaveLength(2);
    expect(plan.join('\n')).not.toContain('Seq Scan on timeout');
    expect(await oldest()).toBe(20_000);
    // Those that are looked up again a day after their deadline count too.
    expect(await count()).toBe(10_001);
  });

  it('names the kinds and providers that are paused', async () => {
    const controls = new Controls({ dataSource: database.dataSource, schema: SCHEMA }, new ManualClock());
    const by = { by: 'anna', reason: 'maintenance' };
    await controls.change('provider:fake', { pause: true }, by);
    await controls.change('provider:limited', { perSecond: 5 }, by);
    await controls.change(`kind:${KIND}`, { pause: true }, by);
    expect([...controls.paused].sort()).toEqual([`kind:${KIND}`, 'provider:fake']);
    await controls.change('provider:fake', { pause: false }, by);
    expect([...controls.paused]).toEqual([`kind:${KIND}`]);
  });
});

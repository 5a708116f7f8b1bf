import {
  EngineSettings,
  WakeUpRepublisher,
  type RepublicationStep,
} from '../../../src/timeouts/message-path/wake-up-republisher';
import { createDatabase, type TestDatabase } from '../../support/database';

describe('a republication of many timeouts', () => {
  let database: TestDatabase;
  let republication: WakeUpRepublisher;

  beforeEach(async () => {
    database = await createDatabase();
    republication = new WakeUpRepublisher(
      database.dataSource,
      new EngineSettings('order_timeout'),
      'order_timeout',
      3_600_000,
    );
  });

  afterEach(() => database.drop());

  const insert = (kind: string, count: number, seconds: number): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       SELECT $1, n, n, at, at FROM generate_series(1, $2::int) AS n,
              LATERAL (SELECT now() + ($3 + n % 100) * interval '1 second' AS at) AS t`,
      [kind, count, seconds],
    );
  const published = async (): Promise<{ rows: number; keys: number; first: string }> => {
    const [row] = await database.dataSource.query<{ rows: number; keys: number; first: string }[]>(
      `SELECT count(*)::int AS rows, count(DISTINCT (body->>'kind', body->>'key'))::int AS keys,
              min(routing_key) AS first FROM order_timeout.outbox`,
    );
    if (!row) throw new Error('no answer');
    return row;
  };
  const handOver = (): Promise<unknown> =>
    database.dataSource.query('UPDATE order_timeout.outbox SET available_at = $1', ['infinity']);
  const stepUntil = async (type: RepublicationStep['type']): Promise<RepublicationStep> => {
    for (let steps = 0; steps < 20; steps += 1) {
      const step = await republication.step();
      if (step.type === type) return step;
    }
    throw new Error(`${type} did not come within 20 steps`);
  };

  it('goes page by page, each when the last one was handed over, and publishes each of them once', async () => {
    await insert('a', 6_000, 60);
    await insert('b', 5_000, 60);
    await republication.request({ cause: 'test' });
    await stepUntil('waiting');
    expect(await published()).toEqual({ rows: 5_000, keys: 5_000, first: 'a' });
    await handOver();
    await stepUntil('waiting');
    expect((await published()).rows).toBe(11_000);
    await handOver();
    expect(await stepUntil('done')).toEqual({ type: 'done', rows: 11_000, cause: 'test' });
    expect(await published()).toEqual({ rows: 11_000, keys: 11_000, first: 'a' });
    expect(await republication.step()).toEqual({ type: 'idle' });
  });

  it('leaves to the sweep what is overdue, and to the outbox what lies beyond the horizon', async () => {
    await insert('overdue', 10, -300);
    await insert('far', 10, 7_200);
    await insert('soon', 10, 60);
    await republication.request({ cause: 'test' });
    expect(await stepUntil('done')).toMatchObject({ rows: 10 });
    expect(await published()).toMatchObject({ rows: 10, first: 'soon' });
  });

  it('is asked for as often as wanted, but not within the time that must be quiet', async () => {
    expect(await republication.request({ cause: 'one' })).toBe('requested');
    expect(await republication.request({ cause: 'two', quietS: 600 })).toBe('running');
    await stepUntil('done');
    expect(await republication.request({ cause: 'three', quietS: 600 })).toBe('too-soon');
    expect(await republication.request({ cause: 'four' })).toBe('requested');
  });
});

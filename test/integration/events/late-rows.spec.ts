import { Logger } from '@nestjs/common';
import { type Clock, SystemClock } from '../../../src/clock';
import { LateRows, type LateRow, PublishFailures } from '../../../src/outbox/sent-rows';
import { OutboxClaims } from '../../../src/outbox/outbox-claims';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { ManualClock } from '../../support/manual-clock';

const LIMITS = { rows: 10, bytes: 1_000_000, leaseMs: 30_000 };
const clock = new SystemClock();
const failuresBy = (time: Clock): PublishFailures => new PublishFailures(new Logger('test'), time);

describe('rows whose messages are confirmed late', () => {
  const claims = new OutboxClaims('order_timeout', 'event', clock);
  let database: TestDatabase;
  let late: LateRows;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    database = await createDatabase();
  });

  beforeEach(() => {
    late = new LateRows({ dataSource: database.dataSource, claims, failures: failuresBy(clock) }, clock);
  });

  afterEach(async () => {
    await late.stop();
    await database.dataSource.query('TRUNCATE order_timeout.outbox');
  });

  afterAll(() => database.drop());

  const claim = async (): Promise<LateRow> => {
    await database.dataSource.query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body) VALUES (gen_random_uuid(), 'event', 'k', '{}')`,
    );
    const { rows } = await claims.claim(database.dataSource, LIMITS);
    const [row] = rows;
    if (!row) throw new Error('nothing was claimed');
    return { id: row.id, lease: row.lease };
  };
  /** In how many seconds the only row may be claimed; undefined when it is gone. */
  const availableIn = async (): Promise<number | undefined> => {
    const [row] = await database.dataSource.query<{ s: number }[]>(
      'SELECT extract(epoch FROM available_at - now())::float8 AS s FROM order_timeout.outbox',
    );
    return row?.s;
  };
  const leaseEnd = async (): Promise<string | undefined> => {
    const [row] = await database.dataSource.query<{ at: string }[]>(
      'SELECT available_at::text AS at FROM order_timeout.outbox',
    );
    return row?.at;
  };
  const isExtended = async (): Promise<boolean> => {
    const seconds = (await availableIn()) ?? 0;
    return seconds > 15 && seconds <= 20;
  };

  it('are kept for a minute, 20 s at a time, while the broker has the message', async () => {
    const manual = new ManualClock();
    late = new LateRows({ dataSource: database.dataSource, claims, failures: failuresBy(manual) }, manual);
    late.timedOut(await claim());
    let before = await leaseEnd();
    for (let renewals = 0; renewals < 6; renewals += 1) {
      manual.advance(renewals === 0 ? 100 : 10_100);
      await until(async () => (await leaseEnd()) !== before);
      expect(await isExtended()).toBe(true);
      before = await leaseEnd();
    }
    manual.advance(10_100);
    expect(manual.pendingTimers).toBe(0);
  });

  it('are deleted when the broker confirms them in the end', async () => {
    const row = await claim();
    late.timedOut(row);
    await until(isExtended);
    late.answered(row, 'confirmed');
    await until(async () => (await availableIn()) === undefined);
  });

  it('are deleted when both are told at once', async () => {
    const row = await claim();
    late.timedOut(row);
    late.answered(row, 'confirmed');
    await until(async () => (await availableIn()) === undefined);
  });

  it.each(['nacked', 'unknown'] as const)('come again within a second when they are %s in the end', async (outcome) => {
    const row = await claim();
    late.timedOut(row);
    await until(isExtended);
    late.answered(row, outcome);
    await until(async () => ((await availableIn()) ?? 0) <= 1);
  });

  it('are left alone when somebody else has them by now', async () => {
    const row = await claim();
    await database.dataSource.query(`UPDATE order_timeout.outbox SET available_at = now() + interval '20 s'`);
    late.timedOut(row);
    late.answered(row, 'confirmed');
    await late.stop();
    expect(await availableIn()).toBeGreaterThan(15);
    expect(await availableIn()).toBeLessThanOrEqual(20);
  });

  it('are written down at the stop, and left to their lease afterwards', async () => {
    const manual = new ManualClock();
    late = new LateRows({ dataSource: database.dataSource, claims, failures: failuresBy(manual) }, manual);
    const row = await claim();
    late.answered(row, 'confirmed');
    await late.stop();
    expect(await availableIn()).toBeUndefined();
    late.answered(row, 'confirmed');
    expect(manual.pendingTimers).toBe(0);
  });
});

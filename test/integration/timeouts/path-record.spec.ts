import { RabbitClient } from '../../../src/rabbit';
import { MessagePath } from '../../../src/timeouts/message-path/message-path';
import { EngineSettings, WakeUpRepublisher } from '../../../src/timeouts/message-path/wake-up-republisher';
import { PathRecord } from '../../../src/timeouts/message-path/transport-switch';
import { resolveTimeoutsOptions } from '../../../src/timeouts/model/timeouts-options';
import { createDatabase, type TestDatabase } from '../../support/database';
import { ManualClock } from '../../support/manual-clock';
import { until } from '../../support/until';

describe('what wake-ups are handed to', () => {
  let database: TestDatabase;
  let record: PathRecord;

  beforeEach(async () => {
    database = await createDatabase();
    const { dataSource } = database;
    const settings = new EngineSettings('order_timeout');
    const republication = new WakeUpRepublisher(dataSource, settings, 'order_timeout', 60_000);
    record = new PathRecord(dataSource, settings, republication, 'order_timeout');
  });

  afterEach(() => database.drop());

  const rows = async (route: string): Promise<number> => {
    const [row] = await database.dataSource.query<{ n: number }[]>(
      'SELECT count(*)::int AS n FROM order_timeout.outbox WHERE route = $1',
      [route],
    );
    return row?.n ?? -1;
  };

  const setting = async (name: string): Promise<string | undefined> => {
    const [row] = await database.dataSource.query<{ value: string }[]>(
      'SELECT value FROM order_timeout.engine_setting WHERE name = $1',
      [name],
    );
    return row?.value;
  };

  it.each([
    { workQueues: 1, isPublishedAgain: false },
    { workQueues: 4, isPublishedAgain: true },
  ])(
    'is published again after a build with $workQueues work queues per kind: $isPublishedAgain',
    async ({ workQueues, isPublishedAgain }) => {
      await database.dataSource.query(
        `INSERT INTO order_timeout.engine_setting (name, value)
         VALUES ('delay-transport', 'ladder'), ('message-path', $1)`,
        [`order-timeout.v1.delay/${workQueues}`],
      );
      const ladder = { name: 'ladder', address: 'order-timeout.v1.delay' } as const;
      expect(await record.record(ladder)).toBe(isPublishedAgain);
      expect((await setting('republication')) !== undefined).toBe(isPublishedAgain);
      expect(await setting('message-path')).toBe('order-timeout.v1.delay/1');
      expect(await record.record(ladder)).toBe(false);
    },
  );

  it('is recorded at once when it becomes nothing, and what the outbox holds is deleted in pages', async () => {
    await record.record({ name: 'ladder', address: 'ladder' });
    await database.dataSource.query(`
      INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at)
      SELECT gen_random_uuid(), CASE WHEN n <= 25000 THEN 'wake-up' ELSE 'event' END, 'a.kind', '{}', now()
        FROM generate_series(1, 25010) AS n`);
    expect(await record.record({ name: 'none', address: 'none' })).toBe(false);
    expect(await rows('wake-up')).toBe(25_000);
    expect([await record.dropPage(), await record.dropPage(), await record.dropPage()]).toEqual([true, true, false]);
    expect([await rows('wake-up'), await rows('event')]).toEqual([0, 10]);
  });

  it('is nothing, so what an older instance still writes beside this one is deleted as well', async () => {
    const clock = new ManualClock();
    const options = resolveTimeoutsOptions({ dataSource: database.dataSource, transport: 'none' });
    const [client, observer] = [new RabbitClient(options.rabbit, clock), { transport: () => undefined } as never];
    const path = new MessagePath({ client, options, observer, kinds: () => [], isConsumed: () => true }, clock);
    path.start();
    await until(async () => (await setting('delay-transport')) === 'none', 5_000);
    const write = `INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at)
                   VALUES (gen_random_uuid(), 'wake-up', 'a.kind', '{}', now() + interval '1 day')`;
    for (let minute = 0; minute < 2; minute++) {
      await database.dataSource.query(write);
      await until(async () => {
        await clock.pass(5_000);
        return (await rows('wake-up')) === 0;
      }, 10_000);
    }
    await path.stop();
  });
});

import { connect, type Channel, type ChannelModel } from 'amqplib';
import { type EntityManager } from 'typeorm';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  type TimeoutsOptions,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { stretched } from '../../support/machine-load';

@TimeoutHandler('recovered', { batchSize: 10, concurrency: 1, maxAttempts: 3 })
class Recovered implements TimeoutHandlerBatch {
  behavior: (due: DueTimeout) => TimeoutOutcome = () => DONE;

  async handleBatch(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const outcomes = due.map((each) => this.behavior(each));
    const done = due.filter((_, index) => outcomes[index]?.type === 'done').map(({ key }) => key);
    await tx.query('INSERT INTO effect SELECT unnest($1::text[])', [done]);
    return outcomes;
  }
}

describe.each(['ladder', 'none'] as const)('the engine after trouble, transport %s', (transport) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let handler: Recovered;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE effect (key text)');
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
  });

  const start = async (options: Partial<TimeoutsOptions> = {}): Promise<void> => {
    handler = new Recovered();
    engine = await startEngine(database, vhost.url, [handler], { transport, ...options });
    if (transport === 'ladder') await until(() => engine.engine.isMessagePathUp);
  };

  afterEach(async () => {
    await engine.close();
    await database.dataSource.query('TRUNCATE order_timeout.timeout, order_timeout.outbox, effect');
  });

  afterAll(async () => {
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const schedule = (keys: string[], afterMs: number): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind: 'recovered', key, afterMs })),
        { tx },
      ),
    );
  const effects = async (): Promise<string[]> => {
    const rows = await database.dataSource.query<{ key: string }[]>('SELECT key FROM effect ORDER BY key');
    return rows.map(({ key }) => key);
  };
  const insertOverdue = (prefix: string, count: number, seconds: number): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       SELECT 'recovered', $1 || n, nextval('order_timeout.timeout_generation'), at, at
         FROM generate_series(1, $2::int) AS n, LATERAL (SELECT now() - $3 * interval '1 second' AS at) AS t`,
      [prefix, count, seconds],
    );

  /** On a channel of its own: asking for a queue that is not there costs the channel. */
  const consumersOf = async (queue: string): Promise<number> => {
    const looking = await direct.createChannel();
    looking.on('error', () => undefined);
    try {
      const { consumerCount } = await looking.checkQueue(queue);
      await looking.close();
      return consumerCount;
    } catch {
      return 0;
    }
  };

  it('handles a timeout right after the host’s transaction lets go of its row', async () => {
    await start();
    await schedule(['locked'], stretched(300));
    let releasedAt = 0;
    await database.dataSource.transaction(async (tx) => {
      await tx.query(`SELECT 1 FROM order_timeout.timeout WHERE key = 'locked' FOR UPDATE`);
      await tx.query('SELECT pg_sleep($1)', [stretched(1_000) / 1_000]);
      releasedAt = performance.now();
    });
    await engine.settled.done(1);
    expect(performance.now() - releasedAt).toBeLessThan(stretched(600));
    expect(engine.settled.rows).toHaveLength(1);
  });

  it('takes wake-ups by message again after its work queue was deleted', async () => {
    await start();
    if (transport === 'none') return;
    const queue = 'order-timeout.v1.work.recovered';
    await channel.deleteQueue(queue);
    await until(async () => (await consumersOf(queue)) === 1);
    await schedule(['after-deletion'], 1_500);
    const [settled] = await engine.settled.done(1);
    expect(settled?.due.cause).toBe('message');
  });

  it('gets to the others past pages of timeouts that cannot be decided', async () => {
    await database.dataSource.query('SELECT 1');
    handler = new Recovered();
    await insertOverdue('stuck-', 35, 3_600);
    await insertOverdue('good-', 15, 10);
    const undecided: TimeoutOutcome = { type: 'retry', reason: 'not known', counted: false, afterMs: 20 };
    handler.behavior = ({ key }) => (key.startsWith('stuck') ? undecided : DONE);
    const sweep = { intervalMs: 500, marginMs: 0, budgetMs: 500 };
    engine = await startEngine(database, vhost.url, [handler], { transport, sweep });
    await engine.settled.done(15);
    expect((await effects()).filter((key) => key.startsWith('stuck'))).toEqual([]);
    const rows = await engine.scheduler.pending({ kind: 'recovered' });
    expect(rows).toHaveLength(35);
    expect(rows.every(({ attempts }) => attempts === 0)).toBe(true);
  });

  if (transport === 'ladder') {
    const send = (body: object | string): boolean =>
      channel.publish(
        'order-timeout.v1.work',
        'recovered',
        Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
        { headers: { tenant: 'blue' }, messageId: 'garbage' },
      );

    it('ignores a message of an earlier generation', async () => {
      await start();
      await schedule(['moved'], 60_000);
      const [row] = await engine.scheduler.pending({ kind: 'recovered' });
      send({ kind: 'recovered', key: 'moved', generation: '1', dueAt: 0 });
      send({ kind: 'recovered', key: 'nobody', generation: '1', dueAt: 0 });
      await schedule(['now'], 0);
      await engine.settled.done(1);
      expect(await effects()).toEqual(['now']);
      expect(await engine.scheduler.find({ kind: 'recovered', key: 'moved' })).toEqual(row);
    });

    it.each([
      ['no JSON', '{', 'INVALID_WAKE_UP', /JSON/],
      ['a missing key', { kind: 'recovered', generation: '1', dueAt: 1 }, 'INVALID_WAKE_UP', /key/],
      [
        'the kind of another queue',
        { kind: 'foreign', key: 'x', generation: '1', dueAt: 1 },
        'INVALID_WAKE_UP',
        /foreign/,
      ],
    ])('parks a message with %s, with the reason', async (_name, body, code, reason) => {
      await start();
      send(body);
      const parked = 'order-timeout.v1.parked';
      await until(async () => (await channel.checkQueue(parked)).messageCount === 1);
      const message = await channel.get(parked, { noAck: true });
      if (!message) throw new Error('nothing was parked');
      expect(message.properties.messageId).toBe('garbage');
      expect(message.properties.headers).toEqual({
        tenant: 'blue',
        'x-ot-error-code': code,
        'x-ot-error-reason': expect.stringMatching(reason) as string,
      });
      expect((await channel.checkQueue('order-timeout.v1.work.recovered')).messageCount).toBe(0);
    });
  }
});

import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { type DataSource, type QueryRunner } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { SystemClock } from '../../../src/clock';
import { Outbox, type OutboxEntry, type OutboxRouter, routeEvent } from '../../../src/outbox';
import { OutboxRelay } from '../../../src/outbox/outbox-relay';
import { RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { stretched } from '../../support/machine-load';

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const QUEUE = 'listener';
const clock = new SystemClock();

interface Statement {
  readonly sql: string;
  readonly values?: unknown[];
}

describe('the outbox and its relay', () => {
  const outbox = new Outbox({ schema: 'order_timeout', horizonMs: 60_000 });
  let database: TestDatabase;
  let vhost: TestVhost;
  let client: RabbitClient;
  let direct: ChannelModel;
  let channel: Channel;
  let relays: OutboxRelay[];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    client = new RabbitClient(resolveRabbitOptions({ urls: [vhost.url], queueType: 'classic' }), clock);
    client.start();
    await until(() => client.publisher.isReady);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    await channel.assertQueue(QUEUE, { durable: true });
    await channel.bindQueue(QUEUE, client.names.events, '#');
  });

  beforeEach(() => {
    relays = [];
  });

  afterEach(async () => {
    await Promise.all(relays.map((each) => each.stop()));
    await database.dataSource.query('TRUNCATE order_timeout.outbox');
    await channel.purgeQueue(QUEUE);
  });

  afterAll(async () => {
    await client.close();
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const relay = (
    dataSource = database.dataSource,
    router: OutboxRouter = (row) => routeEvent(client.names, row),
  ): OutboxRelay => {
    const made = new OutboxRelay(
      {
        dataSource,
        schema: 'order_timeout',
        publisher: client.publisher,
        route: 'event',
        router: () => router,
      },
      clock,
    );
    relays.push(made);
    return made;
  };
  const event = (name: string, more: Partial<OutboxEntry> = {}): OutboxEntry => ({
    id: uuidv7(),
    route: 'event',
    routingKey: name,
    body: { name },
    ...more,
  });
  const append = (...entries: OutboxEntry[]): Promise<void> =>
    database.dataSource.transaction((tx) => outbox.append(tx, entries));
  /** What was sent to PostgreSQL meanwhile, as far as it matches. */
  const statementsOf = async (work: () => Promise<unknown>, wanted: RegExp): Promise<Statement[]> => {
    const runner = database.dataSource.createQueryRunner();
    const query = jest.spyOn(Object.getPrototypeOf(runner) as QueryRunner, 'query');
    await work();
    const sent = query.mock.calls.map(([sql, values]) => ({ sql, values: values as unknown[] }));
    query.mockRestore();
    return sent.filter(({ sql }) => wanted.test(sql));
  };
  const rowsLeft = async (): Promise<number> => {
    const [row] = await database.dataSource.query<{ count: string }[]>('SELECT count(*) FROM order_timeout.outbox');
    return Number(row?.count);
  };
  const received = async (): Promise<{ id: string; key: string; body: unknown; headers: object }[]> => {
    const all = [];
    for (;;) {
      const message = await channel.get(QUEUE, { noAck: true });
      if (!message) return all;
      const { messageId: id, headers = {} } = message.properties as { messageId: string; headers?: object };
      all.push({
        id,
        key: message.fields.routingKey,
        body: JSON.parse(message.content.toString()) as unknown,
        headers,
      });
    }
  };

  it('publishes without a trace that no broker would take, and is not held up by it', async () => {
    await append(event('order.closed', { traceparent: 'x'.repeat(200_000) }), event('order.paid'));
    expect(await relay().runOnce()).toBe(2);
    expect(await rowsLeft()).toBe(0);
  });

  it('publishes what was committed, with its id, body and trace, and deletes the row', async () => {
    const entry = event('order.closed', { traceparent: TRACE });
    await append(entry);
    expect(await relay().runOnce()).toBe(1);
    expect(await received()).toEqual([
      { id: entry.id, key: 'order.closed', body: { name: 'order.closed' }, headers: { traceparent: TRACE } },
    ]);
    expect(await rowsLeft()).toBe(0);
  });

  it('publishes nothing of a transaction, or of a savepoint, that was rolled back', async () => {
    const fault = new Error('changed my mind');
    const whole = database.dataSource.transaction(async (tx) => {
      await outbox.append(tx, [event('whole')]);
      throw fault;
    });
    await expect(whole).rejects.toBe(fault);
    await database.dataSource.transaction(async (tx) => {
      await outbox.append(tx, [event('kept')]);
      const part = tx.transaction(async (inner) => {
        await outbox.append(inner, [event('part')]);
        throw fault;
      });
      await expect(part).rejects.toBe(fault);
    });
    await relay().runOnce();
    expect((await received()).map(({ key }) => key)).toEqual(['kept']);
  });

  it('publishes every row once with two relays side by side', async () => {
    const other: DataSource = await connectTo(database.url, 4);
    const entries = Array.from({ length: 1_500 }, (_, n) => event(`n.${n}`));
    await append(...entries);
    relay().start();
    relay(other).start();
    await until(async () => (await rowsLeft()) === 0);
    await Promise.all(relays.map((each) => each.stop()));
    await other.destroy();
    const ids = (await received()).map(({ id }) => id);
    expect(ids.sort()).toEqual(entries.map(({ id }) => id).sort());
  });

  describe('with 50 000 rows', () => {
    const fill = (): Promise<unknown> =>
      database.dataSource.query(`
        INSERT INTO order_timeout.outbox (id, route, routing_key, body)
        SELECT gen_random_uuid(), 'event', 'n', '{}' FROM generate_series(1, 50000)`);
    const planOf = async (of: Pick<DataSource, 'query'>, { sql, values }: Statement): Promise<string> => {
      const lines = await of.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${sql}`, values);
      return lines.map((line) => line['QUERY PLAN']).join('\n');
    };

    it.each<[string, () => Promise<unknown>]>([
      ['nothing is known of them', fill],
      [
        'the table was empty when it was vacuumed',
        async () => {
          await fill();
          await database.dataSource.query('DELETE FROM order_timeout.outbox');
          await database.dataSource.query('VACUUM (ANALYZE, TRUNCATE off) order_timeout.outbox');
          await fill();
        },
      ],
      [
        'they are known',
        async () => {
          await fill();
          await database.dataSource.query('ANALYZE order_timeout.outbox');
        },
      ],
    ])('reads no more than it claims and deletes while %s', async (_, prepare) => {
      await prepare();
      const sent = await statementsOf(() => relay().runOnce(), /enable_|SKIP LOCKED|DELETE/);
      // The past first, and then what is due since: on a busy machine, all of them are past by now.
      const [settings] = sent as [Statement];
      const [deletion, claim] = sent.toReversed() as [Statement, Statement];
      await database.dataSource.transaction(async (tx) => {
        await tx.query(settings.sql);
        const plan = await planOf(tx, claim);
        expect(plan).toMatch(/LockRows[^]*Index Scan using outbox_event/);
        expect(plan).toMatch(/Update on outbox[^]*Tid Scan/);
        // Of what is claimed alone: by id, and for the last place.
        expect(plan.match(/Sort Key/g)).toHaveLength(2);
      });
      expect(await planOf(database.dataSource, deletion)).toMatch(/Index Scan (using|on) outbox_/);
    });
  });

  it('publishes a backlog in the order in which it was made', async () => {
    const entries = Array.from({ length: 1_500 }, (_, n) => event(`n.${n}`));
    await append(...entries);
    relay().start();
    await until(async () => (await rowsLeft()) === 0);
    expect((await received()).map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
  });

  it('publishes a row again under its own id when it could not be deleted', async () => {
    await append(event('twice'));
    await database.dataSource.query(
      `CREATE FUNCTION no_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`,
    );
    await database.dataSource.query(
      `CREATE TRIGGER no_deletion BEFORE DELETE ON order_timeout.outbox EXECUTE FUNCTION no_deletion()`,
    );
    await expect(relay().runOnce()).rejects.toThrow('not now');
    await database.dataSource.query('DROP FUNCTION no_deletion CASCADE');
    expect(await relay().runOnce()).toBe(0);
    await database.dataSource.query('UPDATE order_timeout.outbox SET available_at = now()');
    expect(await relay().runOnce()).toBe(1);
    const [first, second, ...rest] = (await received()).map(({ id }) => id);
    expect(first).toBe(second);
    expect(rest).toEqual([]);
    expect(await rowsLeft()).toBe(0);
  });

  it('keeps what the broker did not take, and tries it again', async () => {
    await channel.assertQueue('full', { arguments: { 'x-max-length': 0, 'x-overflow': 'reject-publish' } });
    await channel.bindQueue('full', client.names.events, 'unwanted');
    await append(event('unwanted'), event('wanted'));
    await relay().runOnce();
    expect(await rowsLeft()).toBe(1);
    await channel.deleteQueue('full');
    relay().start();
    await until(async () => (await rowsLeft()) === 0);
    expect(new Set((await received()).map(({ key }) => key))).toEqual(new Set(['unwanted', 'wanted']));
  });

  it('leaves alone what is due beyond the horizon, and what has no router', async () => {
    await append(
      event('far', { deliverAtMs: Date.now() + 3_600_000 }),
      event('near', { deliverAtMs: Date.now() + 2_000 }),
      event('a.kind', { route: 'wake-up' }),
    );
    expect(await relay().runOnce()).toBe(1);
    expect((await received()).map(({ key }) => key)).toEqual(['near']);
    expect(await rowsLeft()).toBe(2);
  });

  it('takes what is due in more than three seconds on the next quarter of a second, and the rest at once', async () => {
    const inMs = (ms: number): Partial<OutboxEntry> => ({ route: 'wake-up', deliverAtMs: Date.now() + ms });
    await append(
      event('at.once'),
      event('soon', inMs(2_000)),
      event('later', inMs(10_000)),
      event('far', inMs(90_000)),
    );
    const rows = await database.dataSource.query<{ name: string; ms: number; beat: number; ahead: number }[]>(
      `SELECT routing_key AS name, (extract(epoch FROM available_at - min(available_at) OVER ()) * 1000)::float8 AS ms,
              (extract(epoch FROM available_at)::numeric * 1000 % 250)::float8 AS beat,
              (extract(epoch FROM deliver_at - available_at) * 1000)::float8 AS ahead
         FROM order_timeout.outbox ORDER BY id`,
    );
    const [atOnce, soon, later, far] = rows;
    expect([atOnce?.ms, soon?.ms]).toEqual([0, 0]);
    expect([later?.beat, far?.beat]).toEqual([0, 0]);
    expect(later?.ms).toBeLessThanOrEqual(250);
    expect(far?.ahead).toBeGreaterThan(60_000 - 250);
    expect(far?.ahead).toBeLessThanOrEqual(60_000);
  });

  it('publishes after a commit without waiting for its next poll', async () => {
    const running = relay();
    running.start();
    await append(event('first'));
    await until(async () => (await rowsLeft()) === 0);
    const startedAt = performance.now();
    for (let n = 0; n < 10; n++) {
      await append(event(`quick.${n}`));
      await until(async () => (await rowsLeft()) === 0);
    }
    // Ten polls would take five seconds, and longer on a busy machine.
    expect(performance.now() - startedAt).toBeLessThan(stretched(2_500));
  });

  it('tells how much waits, and since when, claimed or not', async () => {
    expect(await outbox.backlog(database.dataSource)).toEqual({ rows: 0, oldestSeconds: 0, parked: 0 });
    const farMs = Date.now() + 3_600_000;
    await append(event('old'), event('new'), event('far', { deliverAtMs: farMs, route: 'wake-up' }));
    await database.dataSource.query(`
      UPDATE order_timeout.outbox SET created_at = now() - interval '90 s', available_at = now() + interval '20 s',
             attempts = 3 WHERE routing_key = 'old'`);
    const { rows, oldestSeconds } = await outbox.backlog(database.dataSource);
    expect(rows).toBe(2);
    expect(oldestSeconds).toBeGreaterThanOrEqual(90);
    expect(oldestSeconds).toBeLessThan(90 + stretched(10));
  });

  it('counts a wake-up from when the horizon reached it, whatever claims have done to it', async () => {
    const reachedAt = Date.now() - 10_000;
    await append(event('a.kind', { route: 'wake-up', deliverAtMs: reachedAt + 60_000 }));
    await database.dataSource.query(`
      UPDATE order_timeout.outbox SET created_at = now() - interval '1 hour', available_at = now() + interval '25 s'`);
    const { rows, oldestSeconds } = await outbox.backlog(database.dataSource);
    expect(rows).toBe(1);
    expect(oldestSeconds).toBeGreaterThan(9.9);
    expect(oldestSeconds).toBeLessThan((Date.now() - reachedAt) / 1_000 + 0.1);
  });

  describe('what can never be sent', () => {
    const parked = (): Promise<{ name: string; reason: string }[]> =>
      database.dataSource.query(
        `SELECT left(routing_key, 6) AS name, parked_reason AS reason FROM order_timeout.outbox
          WHERE parked_reason IS NOT NULL AND available_at = 'infinity' ORDER BY id`,
      );

    it('is parked with its reason at once, and the others are sent', async () => {
      const picky = relay(database.dataSource, (row) => {
        if (row.routing_key === 'broken') throw new Error('no router knows it');
        const headers = row.routing_key === 'headers' ? { tenant: 'x'.repeat(70_000) } : {};
        return { ...routeEvent(client.names, row), headers };
      });
      await append(event('k'.repeat(300)), event('日'.repeat(90)), event('headers'), event('broken'), event('good'));
      expect(await picky.runOnce()).toBe(1);
      expect(await parked()).toEqual([
        { name: 'kkkkkk', reason: expect.stringContaining('routingKey') as string },
        { name: '日日日日日日', reason: expect.stringContaining('routingKey') as string },
        { name: 'header', reason: expect.stringContaining('headers') as string },
        { name: 'broken', reason: 'no message can be made of it: Error: no router knows it' },
      ]);
      expect((await received()).map(({ key }) => key)).toEqual(['good']);
      expect(await picky.runOnce()).toBe(0);
      expect(await outbox.backlog(database.dataSource)).toEqual({ rows: 0, oldestSeconds: 0, parked: 4 });
    });
  });

  it('sends events though thousands of wake-ups wait longer, and reads none of them', async () => {
    await database.dataSource.query(`
      INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at)
      SELECT gen_random_uuid(), 'wake-up', 'a.kind', '{}', now() - interval '1 hour' FROM generate_series(1, 5000)`);
    await append(event('order.closed'));
    expect(await relay().runOnce()).toBe(1);
    expect((await received()).map(({ key }) => key)).toEqual(['order.closed']);
  });

  it('takes no more bodies at once than fit into memory, but always one', async () => {
    const large = (name: string, bytes: number): OutboxEntry =>
      event(name, { body: { text: randomBytes(bytes / 2).toString('hex') } });
    await append(large('a', 600_000), large('b', 300_000), large('c', 300_000));
    expect(await relay().runOnce()).toBe(1);
    expect(await relay().runOnce()).toBe(2);
    expect((await received()).map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  it('tries what the broker did not take later and later', async () => {
    await channel.assertQueue('full', { arguments: { 'x-max-length': 0, 'x-overflow': 'reject-publish' } });
    await channel.bindQueue('full', client.names.events, 'unwanted');
    await append(event('unwanted'));
    const waits: { sinceBefore: number; sinceAfter: number }[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      await database.dataSource.query('UPDATE order_timeout.outbox SET available_at = now()');
      const [before] = await database.dataSource.query<[{ at: string }]>('SELECT now()::text AS at');
      expect(await relay().runOnce()).toBe(0);
      const [row] = await database.dataSource.query<typeof waits>(
        `SELECT extract(epoch FROM available_at - $1::timestamptz)::float8 AS "sinceBefore",
                extract(epoch FROM available_at - now())::float8 AS "sinceAfter" FROM order_timeout.outbox`,
        [before.at],
      );
      if (row) waits.push(row);
    }
    await channel.deleteQueue('full');
    for (const [n, longest] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
      expect(waits[n]?.sinceAfter).toBeLessThanOrEqual(longest);
      expect(waits[n]?.sinceBefore).toBeGreaterThanOrEqual(longest * 0.75);
    }
  });
});

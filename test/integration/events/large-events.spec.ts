import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const COUNT = 600;
const HEAP_MB = 512;
const root = join(__dirname, '../../..');

describe('many large events', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let child: ChildProcess | undefined;
  let said: string;
  const received = new Map<string, number>();

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    await channel.assertExchange('order-timeout.v1.events', 'topic', { durable: true });
    const { queue } = await channel.assertQueue('', { exclusive: true });
    await channel.bindQueue(queue, 'order-timeout.v1.events', '#');
    const count = (id: string): unknown => received.set(id, (received.get(id) ?? 0) + 1);
    await channel.consume(queue, (message) => message && count(String(message.properties.messageId)), { noAck: true });
  });

  afterEach(async () => {
    if (child?.exitCode === null) {
      const exited = once(child, 'exit');
      child.stdin?.end();
      await exited;
    }
    await database.dataSource.query('TRUNCATE order_timeout.outbox');
    received.clear();
  });

  afterAll(async () => {
    await direct?.close();
    await database?.drop();
    await vhost?.drop();
  });

  function startRelay(): ChildProcess {
    const compile = join(root, 'test/support/compile-on-require.js');
    const args = [`--max-old-space-size=${HEAP_MB}`, '-r', compile, join(__dirname, 'relay-process.ts')];
    const env = { PATH: process.env.PATH, DATABASE: database.url, BROKER: vhost.url };
    const started = spawn(process.execPath, args, { cwd: root, env, stdio: 'pipe' });
    said = '';
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)));
    return started;
  }

  it(`${COUNT} of 1 MB leave a process with a heap of ${HEAP_MB} MB`, async () => {
    await database.dataSource.query(`
      INSERT INTO order_timeout.outbox (id, route, routing_key, body)
      SELECT gen_random_uuid(), 'event', 'order.closed', jsonb_build_object('text', repeat('x', 1000000))
        FROM generate_series(1, ${COUNT}) n`);
    const relay = (child = startRelay());
    await until(() => received.size === COUNT || relay.exitCode !== null || relay.signalCode !== null, 150_000);
    expect({ ended: relay.exitCode ?? relay.signalCode, said: relay.exitCode === null ? '' : said }).toEqual({
      ended: null,
      said: '',
    });
    expect(received.size).toBe(COUNT);
    await until(
      async () => (await database.dataSource.query<unknown[]>('SELECT 1 FROM order_timeout.outbox')).length === 0,
    );
  }, 200_000);
});

import { Logger } from '@nestjs/common';
import { connect, type ChannelModel } from 'amqplib';
import { TopologyNames } from '../../../src/rabbit';
import { EngineSettings, WakeUpRepublisher } from '../../../src/timeouts/message-path/wake-up-republisher';
import { PrefixWatch } from '../../../src/timeouts/message-path/prefix-watch';
import { createDatabase, type TestDatabase } from '../../support/database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { ManualClock } from '../../support/manual-clock';

describe('the owner of a prefix', () => {
  let databases: TestDatabase[];
  let vhost: TestVhost;
  let connection: ChannelModel;

  beforeAll(() => void Logger.overrideLogger(false));

  beforeEach(async () => {
    databases = await Promise.all([createDatabase(), createDatabase()]);
    vhost = await createVhost();
    connection = await connect(vhost.url);
    connection.on('error', () => undefined);
  });

  afterEach(async () => {
    await connection.close().catch(() => undefined);
    await Promise.all(databases.map((database) => database.drop()));
    await vhost.drop();
  });

  const clock = new ManualClock();
  const watchOf = (database: TestDatabase | undefined): PrefixWatch => {
    if (!database) throw new Error('no database');
    const { dataSource } = database;
    const settings = new EngineSettings('order_timeout');
    const republication = new WakeUpRepublisher(dataSource, settings, 'order_timeout', 60_000);
    return new PrefixWatch({ dataSource, settings, republication, names: new TopologyNames('p.v1') }, clock);
  };

  it('finds nothing lost at the first start, and nothing at the next', async () => {
    expect(await watchOf(databases[0]).inspect(connection)).toBe(false);
    expect(await watchOf(databases[0]).inspect(connection)).toBe(false);
  });

  it('finds out that the broker is an empty one, once for all instances', async () => {
    const [one, two] = [watchOf(databases[0]), watchOf(databases[0])];
    await one.inspect(connection);
    await two.inspect(connection);
    const channel = await connection.createChannel();
    await channel.deleteExchange('p.v1.owner');
    expect(await one.inspect(connection)).toBe(true);
    expect(await two.inspect(connection)).toBe(false);
    expect(one.rivalry).toBeUndefined();
  });

  describe('an hour after another transport took over from the plugin', () => {
    const leave = async (name: string): Promise<void> => {
      await databases[0]?.dataSource.query(
        `INSERT INTO order_timeout.engine_setting (name, value, changed_at)
         VALUES ('delay-transport', $1, now()), ('message-path', 'p.v1', now() - interval '61 minutes')`,
        [name],
      );
    };
    const declareLeft = async (): Promise<void> => {
      const channel = await connection.createChannel();
      await channel.assertExchange('p.v1.delayed', 'direct');
      await channel.close();
    };
    const isLeftThere = async (): Promise<boolean> => {
      const channel = await connection.createChannel();
      channel.on('error', () => undefined);
      return channel.checkExchange('p.v1.delayed').then(
        () => true,
        () => false,
      );
    };

    it('publishes what instances handed to its exchange meanwhile, and deletes it, once for all of them', async () => {
      await leave('ladder');
      await declareLeft();
      const [one, two] = [watchOf(databases[0]), watchOf(databases[0])];
      expect(await one.inspect(connection)).toBe(true);
      expect(await isLeftThere()).toBe(false);
      expect([await two.inspect(connection), await one.inspect(connection)]).toEqual([false, false]);
    });

    it('publishes nothing if the broker has no such exchange', async () => {
      await leave('ladder');
      expect(await watchOf(databases[0]).inspect(connection)).toBe(false);
    });

    it('keeps the exchange while it is in use', async () => {
      await leave('delayed-exchange');
      await declareLeft();
      expect(await watchOf(databases[0]).inspect(connection)).toBe(false);
      expect(await isLeftThere()).toBe(true);
    });
  });

  it('tells a prefix that was used before from one that another service uses now', async () => {
    const [ours, theirs] = [watchOf(databases[0]), watchOf(databases[1])];
    await ours.inspect(connection);
    await theirs.inspect(connection);
    expect(theirs.rivalry).toBeUndefined();
    expect(await ours.inspect(connection)).toBe(false);
    expect(ours.rivalry).toMatch(/another service, with the database [0-9a-f-]{36}, uses the prefix "p.v1" too/);
    await theirs.inspect(connection);
    expect(theirs.rivalry).toMatch(/give each its own prefix/);
    clock.advance(300_001);
    expect(ours.rivalry).toBeUndefined();
  });
});

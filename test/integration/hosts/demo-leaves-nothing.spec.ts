import { NestFactory } from '@nestjs/core';
import { clearBroker } from '../../../examples/demo/servers/broker-room';
import { OrderTimeoutModule } from '../../../src';
import { TimeoutEngine } from '../../../src/public/timeouts';
import { createDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost } from '../../support/rabbit-vhost';

describe('the demo on a shared broker', () => {
  it('leaves none of the exchanges and queues that the product declares', async () => {
    const [database, vhost] = await Promise.all([createDatabase(), createVhost('plugin')]);
    const prefix = 'order-timeout.demo-test';
    const { dataSource } = database;
    const options = { dataSource, rabbit: { urls: [vhost.url], prefix }, transport: 'delayed-exchange' as const };
    const module = OrderTimeoutModule.forRoot(options);
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    const named = async (what: 'queues' | 'exchanges'): Promise<string[]> => {
      const found = await vhost.manage<{ name: string }[]>('GET', `/${what}/${vhost.name}`);
      return found.map(({ name }) => name).filter((name) => name.startsWith(prefix));
    };
    await until(() => app.get(TimeoutEngine).isMessagePathUp);
    await until(async () => (await named('exchanges')).includes(`${prefix}.owner`));
    await app.close();
    await clearBroker([vhost.url], prefix);
    expect(await named('queues')).toEqual([]);
    expect(await named('exchanges')).toEqual([]);
    await database.drop();
    await vhost.drop();
  });
});

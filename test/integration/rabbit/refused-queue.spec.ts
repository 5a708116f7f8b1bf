import { Logger } from '@nestjs/common';
import { SystemClock } from '../../../src/clock';
import { RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { until } from '../../support/until';

const QUEUE = 'private';

describe('a queue that the user may not read', () => {
  let vhost: TestVhost;
  let user: string;
  let client: RabbitClient;
  const errors: string[] = [];

  beforeAll(async () => {
    const ignore = (): void => undefined;
    Logger.overrideLogger({
      log: ignore,
      warn: ignore,
      error: (message: unknown) => void errors.push(String(message)),
    });
    vhost = await createVhost();
    user = `reader-${vhost.name}`;
    await vhost.manage('PUT', `/users/${user}`, { password: 'right', tags: '' });
    await permit(`^(?!${QUEUE}$).*`);
    const url = new URL(vhost.url);
    [url.username, url.password] = [user, 'right'];
    client = new RabbitClient(resolveRabbitOptions({ urls: [url.href], queueType: 'classic' }), new SystemClock());
  });

  afterAll(async () => {
    Logger.overrideLogger(false);
    await client.close();
    await vhost.manage('DELETE', `/users/${user}`);
    await vhost.drop();
  });

  const permit = (read: string): Promise<unknown> =>
    vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: '.*', write: '.*', read });

  it('is told as such at each try, and is consumed as soon as he may, also if he may open no further connection', async () => {
    const isRefused = (): number => errors.filter((line) => line.includes('ACCESS_REFUSED')).length;
    let tries = 0;
    const consumer = client.consume({
      ...{ queue: QUEUE, prefetch: 1, onDelivery: () => undefined },
      declare: async (channel) => {
        tries += 1;
        await channel.assertQueue(QUEUE, { durable: true });
      },
    });
    client.start();
    await until(() => tries > 2, 30_000);
    expect([isRefused() > 0, errors.filter((line) => line.includes('QUEUE_UNAVAILABLE'))]).toEqual([true, []]);
    await vhost.manage('PUT', `/vhost-limits/${vhost.name}/max-connections`, { value: 1 });
    await permit('.*');
    await until(() => consumer.isConsuming, 30_000);
  });
});

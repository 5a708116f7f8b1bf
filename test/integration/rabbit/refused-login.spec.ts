import { Logger, type LoggerService } from '@nestjs/common';
import { SystemClock } from '../../../src/clock';
import { RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

describe('a broker that refuses the login', () => {
  let vhost: TestVhost;
  let user: string;
  let client: RabbitClient;
  let lines: string[];

  beforeAll(async () => {
    vhost = await createVhost();
    user = `refused-${vhost.name}`;
    await vhost.manage('PUT', `/users/${user}`, { password: 'right', tags: '' });
  });

  beforeEach(() => {
    lines = [];
    const keep =
      (level: string) =>
      (message: unknown): void =>
        void lines.push(`${level} ${String(message)}`);
    const logger: LoggerService = { log: keep('log'), warn: keep('warn'), error: keep('error') };
    Logger.overrideLogger(logger);
  });

  afterEach(async () => {
    Logger.overrideLogger(false);
    await client.close();
  });

  afterAll(async () => {
    await vhost.manage('DELETE', `/users/${user}`);
    await vhost.drop();
  });

  function connectWith(password: string): void {
    const url = new URL(vhost.url);
    url.username = user;
    url.password = password;
    client = new RabbitClient(resolveRabbitOptions({ urls: [url.href], queueType: 'classic' }), new SystemClock());
    client.start();
  }

  const problems = (): string[] => lines.filter((line) => !line.startsWith('log '));
  const host = (): string => new URL(vhost.url).host;

  it('because of the password is logged once, with the remedy and without the password, until the login works', async () => {
    await vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: '.*', write: '.*', read: '.*' });
    connectWith('wrong-password');
    await until(() => problems().length > 0);
    await vhost.manage('PUT', `/users/${user}`, { password: 'wrong-password', tags: '' });
    await until(() => client.isUp, 25_000);
    expect(problems()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^error ORDER_TIMEOUT/BROKER_LOGIN_REFUSED: the broker at ${host()} refuses the user "${user}": .*` +
            'correct the user or password in rabbit.urls .RABBITMQ_URLS.\\. .*every 10 s',
        ),
      ),
    ]);
    expect(problems().join()).not.toContain('wrong-password');
  });

  it('because of the vhost is logged with that reason', async () => {
    await vhost.manage('PUT', `/users/${user}`, { password: 'right', tags: '' });
    await vhost.manage('DELETE', `/permissions/${vhost.name}/${user}`);
    connectWith('right');
    await until(() => problems().length > 0);
    expect(problems()[0]).toMatch(/^error ORDER_TIMEOUT\/BROKER_LOGIN_REFUSED: .*the vhost "test-.*set_permissions/);
  });

  it('is distinguished from one that is unavailable', async () => {
    client = new RabbitClient(resolveRabbitOptions({ urls: ['amqp://127.0.0.1:9'] }), new SystemClock());
    client.start();
    await until(() => problems().length === 2);
    expect(problems()[0]).toMatch(/^warn not connected, retrying every second: connect ECONNREFUSED/);
  });
});

import { type Socket } from 'node:net';
import { Logger, type LoggerService } from '@nestjs/common';
import { SystemClock } from '../../../src/clock';
import { RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { LoginRefusals, RabbitConnection } from '../../../src/rabbit/rabbit-connection';
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

  function clientWith(password: string): RabbitClient {
    const url = new URL(vhost.url);
    url.username = user;
    url.password = password;
    return new RabbitClient(resolveRabbitOptions({ urls: [url.href], queueType: 'classic' }), new SystemClock());
  }

  function connectWith(password: string): void {
    client = clientWith(password);
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

  it('because of a limit of connections is logged once for those that it keeps out', async () => {
    await vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: '.*', write: '.*', read: '.*' });
    client = clientWith('right');
    const clock = new SystemClock();
    const refusals = new LoginRefusals(clock);
    const open = (purpose: RabbitConnection['purpose']): RabbitConnection => {
      const connection = new RabbitConnection(client.options, purpose, clock, refusals);
      connection.start();
      return connection;
    };
    const publishing = open('publish');
    await until(() => publishing.isUp);
    await vhost.manage('PUT', `/user-limits/${user}/max-connections`, { value: 1 });
    const others = [open('wake-up'), open('consume')];
    await until(() => problems().length > 0);
    await vhost.manage('DELETE', `/user-limits/${user}/max-connections`);
    await until(() => others.every(({ isUp }) => isUp), 25_000);
    await Promise.all([publishing, ...others].map((one) => one.close()));
    expect(problems()).toEqual([expect.stringContaining('or a limit of connections is reached')]);
  });

  it('of what it asks for is logged once, although the connection opens and ends every second', async () => {
    await vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: '.*', write: '.*', read: '.*' });
    client = clientWith('right');
    const connection = new RabbitConnection(client.options, 'consume', new SystemClock());
    let opened = 0;
    connection.onConnect((model) => {
      opened += 1;
      const { stream } = model.connection as unknown as { readonly stream: Socket };
      stream.destroy(new Error('no more channels'));
    });
    connection.start();
    await until(() => opened >= 4);
    await connection.close();
    expect(problems()).toEqual(['warn not connected, retrying every second: no more channels']);
  });

  it('is distinguished from one that is unavailable', async () => {
    client = new RabbitClient(resolveRabbitOptions({ urls: ['amqp://127.0.0.1:9'] }), new SystemClock());
    client.start();
    await until(() => problems().length === 2);
    expect(problems()[0]).toMatch(/^warn not connected, retrying every second: connect ECONNREFUSED/);
  });
});

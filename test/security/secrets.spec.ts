import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'amqplib';
import { anOrder, environmentOf } from '../e2e/running-service';
import { TcpProxy } from '../support/servers/tcp-proxy';
import { createDatabase, onServer, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { type ServiceProcess, startServiceProcess } from '../support/service-process';
import { markSecrets, type MarkedSecrets } from './marked-secrets';
import { askRaw } from './raw-http';

const ROLE = `ot_marked_${process.pid}`;
const TABLES = ['orders', 'payment_attempt', 'order_history', 'unmatched_payment', 'refund', 'timeout', 'outbox'];

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('secrets', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let gate: TcpProxy;
  let provider: Server;
  let secrets: MarkedSecrets;
  let environment: Record<string, string>;
  const folder = mkdtempSync(join(tmpdir(), 'ot-secrets-'));
  const running: ServiceProcess[] = [];

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    // Answers as Stripe does, which shows the end of a key that it does not know.
    provider = createServer(({ headers }, response) => {
      const message = `Invalid API Key provided: ***${headers.authorization?.slice(-4) ?? ''}`;
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { type: 'invalid_request_error', message }, code: 'ERROR', message }));
    }).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    secrets = markSecrets(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`);
    await onServer(`CREATE ROLE ${ROLE} LOGIN SUPERUSER PASSWORD '${secrets.database}'`);
    await vhost.manage('PUT', `/users/${ROLE}`, { password: secrets.broker, tags: '' });
    await vhost.manage('PUT', `/permissions/${vhost.name}/${ROLE}`, { configure: '.*', write: '.*', read: '.*' });
    gate = await TcpProxy.open(withLogin(database.url, secrets.database));
    const file = join(folder, 'providers.json');
    writeFileSync(file, JSON.stringify(secrets.providers));
    const webhooks = join(folder, 'webhooks.json');
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/${secrets.endpoint}`;
    const endpoint = { name: 'crm', url, secrets: [secrets.endpoint], allowPrivateNetwork: true };
    writeFileSync(webhooks, JSON.stringify({ endpoints: [endpoint], retryDelaysMs: [100] }));
    environment = {
      ...environmentOf(gate.url, withLogin(vhost.url, secrets.broker)),
      API_KEYS: secrets.apiKeys,
      PAYMENT_PROVIDERS_FILE: file,
      WEBHOOKS_FILE: webhooks,
      HTTP_PAYMENT_PROVIDER_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
      HTTP_PAYMENT_PROVIDER_SECRET: secrets.httpProvider,
      LOG_LEVEL: 'trace',
    };
  });

  afterEach(async () => {
    for (const { child, exited } of running.splice(0)) {
      child.kill('SIGKILL');
      await exited;
    }
  });

  afterAll(async () => {
    rmSync(folder, { recursive: true });
    provider.closeAllConnections();
    provider.close();
    await gate.shut();
    await database.drop();
    await onServer(`DROP ROLE ${ROLE}`);
    await vhost.manage('DELETE', `/users/${ROLE}`);
    await vhost.drop();
  });

  function start(changed: Record<string, string> = {}): ServiceProcess {
    const service = startServiceProcess({ ...environment, ...changed });
    running.push(service);
    return service;
  }

  const logged = ({ output }: ServiceProcess): string => output.stdout + output.stderr;

  it('are in no message about a wrong environment', async () => {
    const bad = join(folder, 'bad.json');
    writeFileSync(
      bad,
      JSON.stringify(secrets.providers).replaceAll('"appId":"', '"appId":"x').replaceAll('BEGIN ', ''),
    );
    const service = start({
      ...{ API_KEYS: `shop:${secrets.apiKey}:*,${secrets.apiKey}`, DATABASE_URL: `mysql://u:${secrets.database}@h/d` },
      ...{
        RABBITMQ_URLS: `http://u:${secrets.broker}@h`,
        HTTP_PAYMENT_PROVIDER_URL: '',
        MERCHANT_POLICIES: `{"${secrets.apiKey}`,
      },
    });
    const files = start({ PAYMENT_PROVIDERS_FILE: bad });
    expect([await service.exited, await files.exited]).toEqual([1, 1]);
    expect(service.output.stderr).toContain('7 problems');
    expect(files.output.stderr).toContain('privateKey');
    expect(secrets.foundIn(logged(service) + logged(files))).toEqual([]);
  });

  it('are in no message about a database or a broker that cannot be reached or refuses', async () => {
    const noDatabase = start({ DATABASE_URL: `postgresql://u:${secrets.database}@127.0.0.1:9/d` });
    const refused = start({ DATABASE_URL: withLogin(database.url, secrets.database, '/no_such_database') });
    const noLogin = start({ RABBITMQ_URLS: withLogin(vhost.url, `${secrets.broker}x`) });
    const noBroker = start({ RABBITMQ_URLS: `amqp://u:${secrets.broker}@127.0.0.1:9` });
    expect(await refused.exited).toBe(1);
    await until(() => /the database is unavailable/.test(logged(noDatabase)), 90_000);
    await until(() => logged(noLogin).includes('BROKER_LOGIN_REFUSED'), 90_000);
    await until(() => logged(noBroker).includes('not connected, retrying'), 90_000);
    const said = [noDatabase, refused, noLogin, noBroker].map(logged);
    expect(said.map((text) => secrets.foundIn(text))).toEqual([[], [], [], []]);
  });

  it('are in no log, answer, row or message of a service in which everything goes wrong', async () => {
    const service = start();
    await until(() => /listening on http/.test(logged(service)), 90_000);
    const port = Number(/listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(logged(service))?.[1]);
    const seen: string[] = [];
    const call = async (method: string, path: string, body: unknown = {}, key = secrets.apiKey): Promise<number> => {
      const headers = [['content-type', 'application/json'], ['x-api-key', key], ['authorization', `Bearer ${key}x`]] as const; // prettier-ignore
      const { status, wire } = await askRaw(port, { method, path, headers, body: Buffer.from(JSON.stringify(body)) });
      seen.push(wire);
      return status;
    };
    await until(async () => (await call('GET', '/health/ready')) === 200);

    for (const name of ['alipay', 'wechat-pay', 'stripe', 'http']) {
      const reference = name === 'stripe' ? 'pi_1' : `ref-${name}`;
      const order = anOrder({
        lines: [],
        currency: 'CNY',
        paymentWindowMs: 60_000,
        attempt: { provider: name, reference },
      });
      expect(await call('POST', '/orders', order)).toBe(201);
      expect(await call('POST', `/orders/${order.id}/pay-check`)).toBe(200);
      await call('POST', `/orders/${order.id}/cancel`);
      expect(await call('POST', `/payments/${name}/notify`)).toBeGreaterThanOrEqual(400);
    }
    await until(async () => (await rowsOf(database)).includes('HTTP 401'), 20_000);
    expect(await call('GET', '/orders/x', {}, `${secrets.apiKey}x`)).toBe(401);
    expect(await call('POST', '/orders', anOrder({ amount: -1 }))).toBe(400);
    await until(async () => (await rowsOf(database)).includes('not trusted') || (await rowsOf(database)).includes('Invalid') || (await rowsOf(database)).includes('UNKNOWN'), 20_000); // prettier-ignore

    await database.dataSource.query('ALTER TABLE order_timeout.order_line RENAME TO hidden');
    expect(await call('POST', '/orders', anOrder({ lines: [{ sku: 'x', quantity: 1, unitAmount: 1 }] }))).toBe(503);
    const parked = await sendBadCommand(vhost);
    await database.dataSource.query('ALTER TABLE order_timeout.hidden RENAME TO order_line');

    await gate.shut();
    expect(await call('GET', '/orders/x')).toBe(503);
    await gate.reopen();
    service.child.kill('SIGTERM');
    await service.exited;

    const places = { logs: logged(service), answers: seen.join('\n'), rows: await rowsOf(database), parked };
    expect(Object.entries(places).filter(([, text]) => text.length < 200)).toEqual([]);
    const found = Object.entries(places).flatMap(([place, text]) =>
      secrets.foundIn(text).map((name) => `${name} in ${place}`),
    );
    expect(found).toEqual([]);
  });
});

function withLogin(url: string, password: string, path?: string): string {
  const changed = new URL(url);
  changed.username = ROLE;
  changed.password = password;
  if (path !== undefined) changed.pathname = path;
  return changed.href;
}

async function rowsOf({ dataSource }: TestDatabase): Promise<string> {
  const rows = TABLES.map((table) => dataSource.query(`SELECT * FROM order_timeout.${table}`));
  return JSON.stringify(await Promise.all(rows));
}

/** Everything that stands in the parked queue afterwards. */
async function sendBadCommand({ url }: TestVhost): Promise<string> {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  const parked: string[] = [];
  await channel.consume('order-timeout.v1.parked', (message) => message && parked.push(JSON.stringify(message)), {
    noAck: true,
  });
  for (const body of ['{', '{"id":1}']) channel.publish('order-timeout.v1.commands', 'order.placed', Buffer.from(body));
  await until(() => parked.length >= 2);
  await connection.close();
  return parked.join('\n');
}

import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { type WebhookEndpoint } from '../../../src';
import { ParkedTimeouts } from '../../../src/public/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ListeningHost, startHost } from '../listeners/listening-host';
import { type Receiver, startReceiver } from './receiver';
import { stretched } from '../../support/machine-load';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const OLD = newSecret();
const CURRENT = newSecret();

describe('signed webhooks', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost;
  let crm: Receiver;
  let dead: Receiver;
  let elsewhere: Receiver;

  const endpoint = (name: string, url: string, more: Partial<WebhookEndpoint> = {}): WebhookEndpoint => ({
    name,
    url,
    secrets: [OLD, CURRENT],
    events: ['order.paid', 'order.cancelled'],
    allowPrivateNetwork: true,
    ...more,
  });
  const start = (endpoints: readonly WebhookEndpoint[]) =>
    startHost(database, vhost, [], { webhooks: { endpoints, timeoutMs: stretched(1_000), retryDelaysMs: [300, 300] } });

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    [crm, dead, elsewhere] = await Promise.all([
      startReceiver(CURRENT),
      startReceiver(CURRENT),
      startReceiver(CURRENT),
    ]);
    host = await start([
      endpoint('crm', crm.url),
      endpoint('dead', dead.url, { events: ['order.closed'], concurrency: 1 }),
      endpoint('inside', elsewhere.url.replace('http:', 'https:'), {
        events: ['order.paid'],
        allowPrivateNetwork: false,
      }),
    ]);
    // Does not answer.
    dead.answer = () => undefined;
  });
  beforeEach(() => {
    crm.received.length = 0;
    crm.answer = (response) => void response.writeHead(204).end();
  });
  afterAll(async () => {
    await host.app.close();
    for (const receiver of [crm, dead, elsewhere]) await receiver.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  const arrived = (orderId: string) => crm.received.filter(({ body }) => body.includes(`"${orderId}"`));
  const deliveryOf = async (kind: string, key: string) =>
    (await host.deliveries()).find((row) => row.kind === kind && row.key === key);
  const cancelled = async () => {
    const id = await host.place();
    await host.orders.cancel({ orderId: id });
    return id;
  };

  it('bring the event of the AMQP contract, which a receiver with one of the secrets accepts', async () => {
    const id = await host.place();
    await host.pay(id);
    await until(() => arrived(id).length === 1);
    const [request] = arrived(id);
    expect(request?.event).toMatchObject({ id: request?.id, type: 'order.paid', orderId: id, version: 1 });
    expect(request?.headers).toMatchObject({ 'content-type': 'application/json' });
    await until(async () => (await deliveryOf('order-webhook.crm', request?.id ?? '')) === undefined);
  });

  it('leave out the events that the endpoint does not want', async () => {
    const [closed, last] = [await host.place({ paymentWindowMs: 0 }), await cancelled()];
    await until(async () => (await host.statusOf(closed)) === 'CLOSED' && arrived(last).length === 1);
    expect(arrived(closed)).toEqual([]);
  });

  it('are sent again with the same id and body and a new timestamp, as the receiver asks', async () => {
    crm.answer = (response) =>
      void (
        crm.received.length === 1 ? response.writeHead(503, { 'retry-after': '1' }) : response.writeHead(200)
      ).end();
    const id = await cancelled();
    await until(() => arrived(id).length === 2);
    const [first, second] = arrived(id);
    expect([second?.id, second?.body]).toEqual([first?.id, first?.body]);
    expect(second?.event).toBeDefined();
    expect(Number(second?.headers['webhook-timestamp'])).toBeGreaterThan(Number(first?.headers['webhook-timestamp']));
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(990);
  });

  it('do not follow redirects, are parked after the last attempt, and can be replayed', async () => {
    crm.answer = (response) => void response.writeHead(302, { location: elsewhere.url }).end();
    const id = await cancelled();
    await until(() => arrived(id).length === 3);
    const key = arrived(id)[0]?.id ?? '';
    await until(async () => (await deliveryOf('order-webhook.crm', key))?.state === 'parked');
    expect((await deliveryOf('order-webhook.crm', key))?.last_error).toBe('HTTP 302; redirects are not followed');
    expect(elsewhere.received).toEqual([]);
    crm.answer = (response) => void response.writeHead(204).end();
    await host.app.get(ParkedTimeouts).replay([{ kind: 'order-webhook.crm', key }]);
    await until(async () => (await deliveryOf('order-webhook.crm', key)) === undefined);
    expect(arrived(id)).toHaveLength(4);
  });

  it('are parked at once if the endpoint is gone', async () => {
    crm.answer = (response) => void response.writeHead(410).end('a page with a secret');
    const id = await cancelled();
    await until(async () => (await host.deliveries()).some(({ last_error }) => last_error?.includes('410') ?? false));
    expect(arrived(id)).toHaveLength(1);
    const row = await deliveryOf('order-webhook.crm', arrived(id)[0]?.id ?? '');
    expect(row).toMatchObject({ state: 'parked', last_error: expect.not.stringContaining('secret') as string });
  });

  it('are not sent to a private address that the endpoint does not allow', async () => {
    await host.pay(await host.place());
    const isRefused = async () =>
      (await host.deliveries()).some(
        ({ kind, last_error }) => kind === 'order-webhook.inside' && last_error?.includes('WEBHOOK_ADDRESS_REFUSED'),
      );
    await until(isRefused);
  });

  it('reach the others in time while one endpoint does not answer', async () => {
    for (let n = 0; n < 20; n++) await host.place({ paymentWindowMs: 0 });
    await until(() => dead.received.length > 0);
    const sentAtMs = performance.now();
    const id = await cancelled();
    await until(() => arrived(id).length === 1);
    // The dead endpoint needs 20 s for one attempt each.
    expect((arrived(id)[0]?.atMs ?? Infinity) - sentAtMs).toBeLessThan(stretched(5_000));
    expect((await host.deliveries()).filter(({ kind }) => kind === 'order-webhook.dead').length).toBeGreaterThan(5);
  });

  it('for an endpoint that was removed wait an hour, and are parked then', async () => {
    await host.app.close();
    const insert = `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
      SELECT 'order-webhook.gone', key, 1, now() - age, now() FROM (VALUES
        ('young', interval '1 minute'), ('old', interval '2 hours')) AS given(key, age)`;
    await database.dataSource.query(insert);
    host = await start([]);
    await until(async () => (await deliveryOf('order-webhook.gone', 'old'))?.state === 'parked');
    await until(async () => (await deliveryOf('order-webhook.gone', 'young'))?.last_error !== null);
    expect(await deliveryOf('order-webhook.gone', 'young')).toMatchObject({
      state: 'pending',
      last_error: expect.stringContaining('"gone" is not configured') as string,
    });
  });
});

describe('a webhook to an endpoint that does not answer', () => {
  const TIMEOUT_MS = stretched(1_000);
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost;
  let silent: Receiver;

  beforeAll(async () => {
    [database, vhost, silent] = await Promise.all([createDatabase(), createVhost(), startReceiver(CURRENT)]);
    silent.answer = () => undefined;
    const endpoint = { name: 'silent', url: silent.url, secrets: [CURRENT], allowPrivateNetwork: true };
    host = await startHost(database, vhost, [], {
      webhooks: { endpoints: [endpoint], timeoutMs: TIMEOUT_MS, retryDelaysMs: [3_600_000] },
    });
  });
  afterAll(async () => {
    await host.app.close();
    await silent.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  it('has failed once, is told in the log, and waits as long as after any other failure', async () => {
    const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await host.orders.cancel({ orderId: await host.place() });
    const sql = `SELECT attempts, last_error, next_attempt_at > now() + interval '50 minutes' AS waits
                   FROM order_timeout.timeout WHERE kind = 'order-webhook.silent' AND last_error IS NOT NULL`;
    let rows: unknown[] = [];
    await until(async () => (rows = await database.dataSource.query<unknown[]>(sql)).length > 0);
    const reason = `no answer within ${TIMEOUT_MS} ms`;
    expect(rows).toEqual([{ attempts: 1, last_error: reason, waits: true }]);
    expect(warnings.mock.calls.flat().join()).toMatch(new RegExp(`event .* was not accepted: ${reason}`));
    warnings.mockRestore();
  });
});

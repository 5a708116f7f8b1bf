import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceVariables } from '../support/service-variables';
import { inShell, removeAll, runDocumented, urlOf } from './compose-project';
import { ShopClient } from './shop-client';

const UP = 'docker compose --profile plain up --detach --wait rabbitmq-plain postgres service-plain';

/** Of the broker and the database, as a .env file would set them. */
const OTHER_PASSWORDS = {
  RABBITMQ_DEFAULT_USER: 'chief',
  RABBITMQ_DEFAULT_PASS: 'other-admin-1',
  OT_SERVICE_PASSWORD: 'other-service-1',
  OT_SENDER_PASSWORD: 'other-sender-1',
  OT_LISTENER_PASSWORD: 'other-listener-1',
  OT_POSTGRES_PASSWORD: 'other-postgres-1',
} as const;

describe('the settings of docker-compose.yml', () => {
  const shop = new ShopClient('service-plain');
  afterAll(removeAll);

  it('have every variable of docs/configuration.md, and hand it to every service', async () => {
    const samples = Object.fromEntries(serviceVariables().map((name) => [name, `sample of ${name}`]));
    const given = Object.fromEntries(
      Object.entries(samples).map(([name, value]) => [OWN_NAMES.includes(name) ? `OT_${name}` : name, value]),
    );
    // The file publishes this port on this address, so they must be valid.
    const valid = { OT_PORT: '3000', OT_PUBLISHED_ADDRESS: '127.0.0.2' };
    const output = await inShell("docker compose --profile '*' config --format json", { ...given, ...valid });
    const { services } = JSON.parse(output) as { services: Record<string, { environment: Record<string, string> }> };
    for (const name of ['service', 'service-plain', 'service-cluster'])
      expect(services[name]?.environment).toEqual({ ...samples, PORT: '3000', PUBLISHED_ADDRESS: '127.0.0.2' });
  });

  it('take other passwords for the first start', async () => {
    await runDocumented(UP, OTHER_PASSWORDS);
    await shop.untilReady();
    expect(await shop.closing(await shop.place(2_000))).toMatchObject({ cause: 'message' });
    expect([await managementStatus('chief', 'other-admin-1'), await managementStatus('admin', 'local-admin')]).toEqual([
      200, 401,
    ]);
  });

  it('take changed passwords for the data that is there', async () => {
    const id = await shop.place(600_000);
    const changed = {
      ...OTHER_PASSWORDS,
      RABBITMQ_DEFAULT_PASS: 'third-admin-1',
      OT_SERVICE_PASSWORD: 'third-service-1',
      OT_POSTGRES_PASSWORD: 'new-password',
    };
    await runDocumented(
      `docker compose exec postgres psql --username shop --dbname order_timeout --command "ALTER ROLE shop PASSWORD 'new-password'"`,
    );
    await runDocumented(UP, changed);
    await shop.untilReady();
    expect(await shop.order(id)).toMatchObject({ id });
    expect([
      await managementStatus('chief', 'third-admin-1'),
      await managementStatus('chief', 'other-admin-1'),
    ]).toEqual([200, 401]);
  });

  it('refuse a password that the definitions of the broker cannot hold, and say which', async () => {
    await removeAll();
    await expect(runDocumented(UP, { OT_SENDER_PASSWORD: 'short' })).rejects.toThrow();
    expect(await inShell('docker compose --profile plain logs rabbitmq-plain')).toContain(
      'set OT_SENDER_PASSWORD to at least 8',
    );
  });

  it('mount payment providers with their secrets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ot-providers-'));
    try {
      const provider = { type: 'http', name: 'my-payments', baseUrl: 'http://127.0.0.1:9', secret: 'file:secret.txt' };
      await writeFile(join(folder, 'providers.json'), JSON.stringify([provider]));
      await writeFile(join(folder, 'secret.txt'), 'a-secret-of-32-characters-length');
      await inShell(`chmod -R a+rX ${folder}`);
      await runDocumented(UP, {
        OT_PAYMENT_PROVIDERS_FOLDER: folder,
        PAYMENT_PROVIDERS_FILE: '/run/payment-providers/providers.json',
      });
      const id = await shop.place(600_000);
      const attempt = (name: string) =>
        shop.send('POST', `/orders/${id}/attempts`, { provider: name, reference: `${name}-1` });
      expect([await attempt('my-payments'), await attempt('another')]).toMatchObject([
        { status: 201 },
        { status: 422, body: { code: 'PROVIDER_NOT_CONFIGURED' } },
      ]);
    } finally {
      await removeAll();
      await rm(folder, { recursive: true });
    }
  });

  it('open the operator page to whoever has a key', async () => {
    const key = 'a key of an operator';
    await runDocumented(UP, { OPERATOR_KEYS: `jane:${createHash('sha256').update(key).digest('hex')}:read` });
    await shop.untilReady();
    const page = await shop.send('GET', '/operator/');
    const script = /src="\.\/(app-[^"]+\.js)"/.exec(String(page.body))?.[1] ?? 'no script';
    expect((await shop.send('GET', `/operator/${script}`)).status).toBe(200);
    expect([
      await shop.send('POST', '/operator/api/session', { key }),
      await shop.send('POST', '/operator/api/session', { key: 'another' }),
    ]).toMatchObject([{ status: 200, body: { name: 'jane', roles: ['read'] } }, { status: 401 }]);
  });

  it('move the service to another port in its container, where the health check finds it', async () => {
    await runDocumented(UP, { OT_PORT: '4000' });
    expect((await fetch(`${await urlOf('service-plain', 4000)}/health/live`)).status).toBe(200);
  });
});

const OWN_NAMES: readonly string[] = [
  'PORT',
  'HOST',
  'DATABASE_URL',
  'RABBITMQ_URLS',
  'NODE_OPTIONS',
  'PUBLISHED_ADDRESS',
];

async function managementStatus(user: string, password: string): Promise<number> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const response = await fetch(`${await urlOf('rabbitmq-plain', 15_672)}/api/whoami`, { headers: { authorization } });
  await response.arrayBuffer();
  return response.status;
}

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'amqplib';
import { DataSource } from 'typeorm';
import { type DoctorReport, type Finding } from '../../../src/operations';
import { CALL_LIMIT } from '../../../src/payments';
import { TopologyNames } from '../../../src/rabbit';
import { TimeoutEngine } from '../../../src/timeouts';
import { managementUrl, runJson } from '../../support/command-line';
import { until } from '../../support/engine';
import { PREFIX } from '../running-service';
import { freePort } from '../../support/servers/free-port';
import { openSilentService, type SilentService } from './silent-service';

describe('the doctor finds in an outage of a provider', () => {
  let service: SilentService;
  let closedPort: number;

  beforeAll(async () => {
    closedPort = await freePort();
    service = await openSilentService({
      HTTP_PAYMENT_PROVIDER_NAME: 'acme',
      HTTP_PAYMENT_PROVIDER_URL: `http://127.0.0.1:${closedPort}`,
      HTTP_PAYMENT_PROVIDER_SECRET: randomUUID(),
    });
  });

  afterAll(() => service.drop());

  const finding = async (id: string): Promise<Finding | undefined> => {
    const { findings } = await runJson<DoctorReport>(service.environment, 'doctor');
    return findings.find((one) => one.id === id);
  };

  it('26. the provider, and orders that have been undecided for an hour', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 2; i++) {
      ids.push(await service.place({ paymentWindowMs: 1_000, attempt: { provider: 'acme', reference: `p-${i}` } }));
    }
    await until(async () => (await finding('provider-failing')) !== undefined, 60_000);
    expect(await finding('provider-failing')).toMatchObject({
      severity: 'warning',
      seen: expect.stringMatching(
        /^The provider acme has not told for \d+ s what became of 2 orders: .*ECONNREFUSED/,
      ) as string,
    });
    expect(await finding('orders-undecided')).toBeUndefined();
    await service.database.dataSource.query(
      `UPDATE order_timeout.timeout SET due_at = now() - interval '2 hours' WHERE kind = 'order.payment' AND key = $1`,
      [ids[0]],
    );
    expect(await finding('orders-undecided')).toMatchObject({
      severity: 'warning',
      seen: expect.stringMatching(new RegExp(`^1 orders .* 72\\d\\d s .*${ids[0]}`)) as string,
    });
  });

  it('32. why the provider cannot be used now, and not why it could not be used at first', async () => {
    const other = createServer((_, response) => void response.writeHead(404).end()).listen(closedPort, '127.0.0.1');
    await once(other, 'listening');
    await until(() => allWait("last_error LIKE '%it is not signed'"), 90_000);
    const failing = await finding('provider-failing');
    other.close();
    expect(failing?.seen).toContain('it is not signed');
  });

  it('33. that the calls to a provider have a limit, which is ours', async () => {
    await service.database.dataSource.query(
      `UPDATE order_timeout.timeout SET last_error = 'acme r: ${CALL_LIMIT}', next_attempt_at = now() + interval '60 s'
        WHERE kind = 'order.payment'`,
    );
    expect((await finding('provider-failing'))?.remedy).toContain('raise its calls per second');
  });

  it('34. nothing of the provider while an operator has paused it', async () => {
    const by = { by: 'jane', reason: 'it is down' };
    await service.app.get(TimeoutEngine).controls.change('provider:acme', { pause: true }, by);
    await until(() => allWait("last_error LIKE '%paused the provider'"), 90_000);
    expect((await finding('timeouts-overdue'))?.seen).toContain('order.payment');
    expect(await finding('provider-failing')).toBeUndefined();
  });

  const allWait = async (condition: string): Promise<boolean> => {
    const sql = `SELECT bool_and(${condition}) AS all FROM order_timeout.timeout WHERE kind = 'order.payment'`;
    const [row] = await service.database.dataSource.query<{ all: boolean }[]>(sql);
    return row?.all ?? false;
  };
});

describe('the doctor finds beside a service', () => {
  let service: SilentService;

  beforeAll(async () => {
    service = await openSilentService();
  });

  afterAll(() => service.drop());

  const olderInstances = async (): Promise<string[]> => {
    const environment = { ...service.environment, RABBITMQ_MANAGEMENT_URL: managementUrl() };
    const { findings } = await runJson<DoctorReport>(environment, 'doctor');
    return findings.filter(({ id }) => id === 'older-instance').map(({ seen }) => seen);
  };

  it.each([
    ['an earlier release', 'nestjs-order-timeout'],
    ['release 0.1.9', 'nestjs-order-timeout/0.1.9'],
  ])('30. %s on the database', async (release, applicationName) => {
    expect(await olderInstances()).toEqual([]);
    const old = await new DataSource({ type: 'postgres', url: service.database.url, applicationName }).initialize();
    const found = await olderInstances();
    await old.destroy();
    expect(found).toEqual([expect.stringContaining(`An instance of ${release} is connected to the database from`)]);
  });

  it.each([
    ['an earlier release', {}],
    ['release 0.1.9', { release: '0.1.9' }],
  ])('31. %s on the broker, and not a program that consumes beside it', async (release, own) => {
    const old = await connect(service.vhost.url, { clientProperties: { connection_name: 'shop:consume', ...own } });
    const channel = await old.createChannel();
    const script = await connect(service.vhost.url);
    for (const one of [channel, await script.createChannel()])
      await one.consume(`${PREFIX}.work.order.payment`, () => undefined);
    const { vhost } = service;
    const listed = () => vhost.manage<object[]>('GET', `/vhosts/${vhost.name}/connections`);
    // The plugin lists new connections within 5 s. The service has three.
    await until(async () => (await listed()).length === 5, 30_000);
    let found: string[] = [];
    await until(async () => (found = await olderInstances()).length > 0, 30_000);
    await old.close();
    await script.close();
    expect(found).toEqual([expect.stringContaining(`An instance of ${release} is connected to the broker from`)]);
    await until(async () => (await olderInstances()).length === 0, 30_000);
  });

  it('35. deliveries to a webhook that is down, and orders that a trigger of somebody else refuses', async () => {
    const retried = `now() - interval '5 minutes', now() + interval '1 hour', 'pending'`;
    await service.database.dataSource
      .query(`INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, attempts, last_error, asked_since) VALUES
      ('webhook.crm', 'e-1', 3, ${retried}, 4, 'connect ECONNREFUSED', NULL), ('order.payment', 'o-1', 4, ${retried}, 4, 'status 503', now()),
      ('order.payment', 'o-2', 4, ${retried}, 0, 'no partition of relation "audit"', NULL),
      ('webhook.erp', 'e-2', 5, now(), now() + interval '1 hour', 'pending', 1, 'status 500', NULL)`);
    const failing = (await runJson<DoctorReport>(service.environment, 'doctor')).findings.filter(
      ({ id }) => id === 'timeouts-failing',
    );
    expect(failing).toMatchObject([
      { seen: expect.stringMatching(/^1 timeouts of order.payment .* for 3\d\d s: no partition/) as string },
      {
        severity: 'warning',
        seen: expect.stringMatching(/^1 timeouts of webhook.crm .* for 3\d\d s: .*REFUSED/) as string,
      },
    ]);
  });

  it.each([
    ['command', 'commands', '#'],
    ['parked', 'parked', ''],
  ] as const)('36. a %s queue that is not bound, so that the broker drops messages', async (_what, name, key) => {
    const queue = new TopologyNames(PREFIX)[name];
    const connection = await connect(service.vhost.url);
    const channel = await connection.createChannel();
    const isFound = async (): Promise<boolean> => {
      const managed = { ...service.environment, RABBITMQ_MANAGEMENT_URL: managementUrl() };
      const { findings } = await runJson<DoctorReport>(managed, 'doctor');
      return findings.some(({ id, seen }) => id === `${name}-unbound` && seen.includes(queue));
    };
    expect(await isFound()).toBe(false);
    await channel.unbindQueue(queue, queue, key);
    expect(await isFound()).toBe(true);
    await channel.bindQueue(queue, queue, key);
    await connection.close();
  });

  it('5. that work queues are not bound, so that their wake-ups are parked', async () => {
    const queue = `${PREFIX}.work.order.payment`;
    const unbound = async (): Promise<Finding | undefined> => {
      const environment = { ...service.environment, RABBITMQ_MANAGEMENT_URL: managementUrl() };
      const { findings } = await runJson<DoctorReport>(environment, 'doctor');
      return findings.find(({ id }) => id === 'work-unbound');
    };
    expect(await unbound()).toBeUndefined();
    const connection = await connect(service.vhost.url);
    const channel = await connection.createChannel();
    await channel.unbindQueue(queue, `${PREFIX}.work`, 'order.payment');
    const found = await unbound();
    await channel.bindQueue(queue, `${PREFIX}.work`, 'order.payment');
    await connection.close();
    expect(found).toMatchObject({
      severity: 'error',
      seen: expect.stringMatching(new RegExp(`parked: ${queue}\\.$`)) as string,
    });
  });

  it('24. topic permissions that keep events back, and not those that let them pass', async () => {
    const { vhost, environment } = service;
    const user = `topics-${randomUUID()}`;
    const url = new URL(vhost.url);
    [url.username, url.password] = [user, 'topics'];
    await vhost.manage('PUT', `/users/${user}`, { password: 'topics', tags: '' });
    await vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: '.*', write: '.*', read: '.*' });
    const refused = async (write: string): Promise<Finding[]> => {
      const topic = { exchange: `${PREFIX}.events`, write, read: '.*' };
      await vhost.manage('PUT', `/topic-permissions/${vhost.name}/${user}`, topic);
      const { findings } = await runJson<DoctorReport>({ ...environment, RABBITMQ_URLS: url.href }, 'doctor');
      return findings.filter(({ id }) => id === 'broker-permissions');
    };
    const [fine, wrong] = [await refused('^(order|timeout)\\.'), await refused('^billing\\.')];
    await vhost.manage('DELETE', `/users/${user}`);
    expect(fine).toEqual([]);
    expect(wrong.map(({ seen }) => seen)).toEqual([expect.stringContaining("topic 'order.closed'")]);
    expect(wrong[0]?.remedy).toContain(`rabbitmqctl clear_topic_permissions -p '${vhost.name}' '${user}'`);
  });

  it('nothing about policies if it cannot read the URL of the management API, and says so', async () => {
    const report = await runJson<DoctorReport>(
      service.environment,
      'doctor',
      '--management-url',
      'me:word@broker:port',
    );
    const skipped = report.unchecked.find(({ what }) => what.startsWith('policies'));
    expect(skipped?.why).toContain('http://broker:15672');
    expect(JSON.stringify(report)).not.toContain('word');
  });

  it('8. a queue of the ladder that somebody deleted', async () => {
    const queue = `${PREFIX}.delay-b8-u1000-classic.0.01`;
    const connection = await connect(service.vhost.url);
    const channel = await connection.createChannel();
    await channel.deleteQueue(queue);
    await connection.close();
    const { findings } = await runJson<DoctorReport>(service.environment, 'doctor');
    expect(findings.find(({ id }) => id === 'message-path')?.seen).toContain(queue);
  });

  it('8. an exchange of the ladder that somebody declared with another type', async () => {
    const exchange = `${PREFIX}.delay-b8-u1000-classic.0`;
    const declare = async (type: string): Promise<void> => {
      const connection = await connect(service.vhost.url);
      const channel = await connection.createChannel();
      await channel.deleteExchange(exchange);
      await channel.assertExchange(exchange, type, { alternateExchange: new TopologyNames(PREFIX).parked });
      await connection.close();
    };
    const find = async (): Promise<Finding | undefined> =>
      (await runJson<DoctorReport>(service.environment, 'doctor')).findings.find(
        ({ id }) => id === 'exchange-arguments',
      );
    await declare('direct');
    const found = await find();
    await declare('topic');
    expect(found?.seen).toContain(`nequivalent arg 'type' for exchange '${exchange}'`);
    expect(found?.remedy).toContain(`Delete the exchange ${exchange}`);
    expect(await find()).toBeUndefined();
  });

  it('34. after it, a parked queue of an earlier release, until a policy limits its deliveries', async () => {
    const { vhost } = service;
    const { parked } = new TopologyNames(PREFIX);
    await service.stop();
    const connection = await connect(vhost.url);
    const channel = await connection.createChannel();
    await channel.deleteQueue(parked);
    await channel.assertQueue(parked, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await connection.close();
    const find = async (type: string) => {
      const changed = { RABBITMQ_MANAGEMENT_URL: managementUrl(), RABBITMQ_QUEUE_TYPE: type };
      const { findings } = await runJson<DoctorReport>({ ...service.environment, ...changed }, 'doctor');
      return findings.find(({ id }) => id === 'parked-queue-arguments');
    };
    // As if the instances had had either type.
    await service.database.dataSource.query(`DELETE FROM order_timeout.engine_setting WHERE name = 'message-path'`);
    const isFound = async () => (await find('quorum'))?.seen.includes('x-delivery-limit') === true;
    // A policy does not change that.
    expect((await find('classic'))?.remedy).toContain(`delete the queue ${parked}`);
    expect(await isFound()).toBe(true);
    const policy = { pattern: '.*', definition: { 'delivery-limit': 1_000_000_000 }, 'apply-to': 'queues' };
    await vhost.manage('PUT', `/policies/${vhost.name}/parked`, policy);
    await until(async () => !(await isFound()), 30_000);
  });

  it('7. after it, a policy that lowers the limit of deliveries, or sends wake-ups elsewhere', async () => {
    const { vhost } = service;
    const { commands } = new TopologyNames(PREFIX);
    const connection = await connect(vhost.url);
    const channel = await connection.createChannel();
    await channel.deleteQueue(commands);
    await channel.assertQueue(commands, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await connection.close();
    for (const [name, pattern, definition] of [
      ['limit', '.*', { 'delivery-limit': 20 }],
      ['route', 'delay', { 'dead-letter-routing-key': 'lost' }],
    ] as const) {
      const policy = { pattern, definition, 'apply-to': 'queues', priority: 1 };
      await vhost.manage('PUT', `/policies/${vhost.name}/${name}`, policy);
    }
    const policies = async (): Promise<string[]> => {
      const environment = { ...service.environment, RABBITMQ_MANAGEMENT_URL: managementUrl() };
      const { findings } = await runJson<DoctorReport>(environment, 'doctor');
      return findings.filter(({ id }) => id === 'policy').map(({ seen }) => seen);
    };
    const elsewhere = /"route" sets dead-letter-routing-key on .* more: it sends/;
    const limited = /"limit" sets delivery-limit on .* and 1 more: it parks/;
    // The broker applies it to one queue after the other.
    await until(async () => {
      const found = await policies();
      return [elsewhere, limited].every((one) => found.some((seen) => one.test(seen)));
    }, 30_000);
  });
});

describe('the doctor, of a service that uses the broker for commands and events only,', () => {
  let service: SilentService;

  beforeAll(async () => {
    service = await openSilentService({ DELAY_TRANSPORT: 'none' });
  });

  afterAll(() => service.drop());

  it('misses no queue of wake-ups', async () => {
    const { findings } = await runJson<DoctorReport>(service.environment, 'doctor');
    expect(findings.filter(({ id }) => id.startsWith('queue-'))).toEqual([]);
  });
});

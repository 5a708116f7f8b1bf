import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import { DataSource } from 'typeorm';
import { type DoctorReport, type Finding } from '../../../src/operations';
import { managementUrl, runJson } from '../../support/command-line';
import { until } from '../../support/engine';
import { PREFIX } from '../running-service';
import { openSilentService, type SilentService } from './silent-service';

describe('the doctor finds in an outage of a provider', () => {
  let service: SilentService;

  beforeAll(async () => {
    service = await openSilentService({
      HTTP_PAYMENT_PROVIDER_NAME: 'acme',
      HTTP_PAYMENT_PROVIDER_URL: 'http://127.0.0.1:1',
      HTTP_PAYMENT_PROVIDER_SECRET: randomUUID(),
    });
  });

  afterAll(() => service.drop());

  it('26. the provider, and orders that have been undecided for an hour', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 2; i++) {
      ids.push(await service.place({ paymentWindowMs: 1_000, attempt: { provider: 'acme', reference: `p-${i}` } }));
    }
    const finding = async (id: string): Promise<Finding | undefined> => {
      const { findings } = await runJson<DoctorReport>(service.environment, 'doctor');
      return findings.find((one) => one.id === id);
    };
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
  ])('31. %s on the broker', async (release, clientProperties) => {
    const old = await connect(service.vhost.url, { clientProperties });
    const channel = await old.createChannel();
    await channel.consume(`${PREFIX}.work.order.payment`, () => undefined);
    let found: string[] = [];
    // The plugin lists new connections within 5 s.
    await until(async () => (found = await olderInstances()).length > 0, 30_000);
    await old.close();
    expect(found).toEqual([expect.stringContaining(`An instance of ${release} is connected to the broker from`)]);
    await until(async () => (await olderInstances()).length === 0, 30_000);
  });
});

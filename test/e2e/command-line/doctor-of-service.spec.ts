import { randomUUID } from 'node:crypto';
import { type DoctorReport, type Finding } from '../../../src/operations';
import { runJson } from '../../support/command-line';
import { until } from '../../support/engine';
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

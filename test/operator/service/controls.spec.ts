import { Logger } from '@nestjs/common';
import { type Page } from 'playwright-core';
import { anOrder } from '../../e2e/running-service';
import { until } from '../../support/engine';
import { confirm, reason } from '../confirm';
import { openServiceStage, PROVIDER, type ServiceStage } from '../service-stage';

/** A row of `engine_setting`. */
interface Setting {
  readonly pause: { readonly by: string; readonly reason: string } | null;
  readonly limit?: { readonly by: string; readonly perSecond: number } | null;
}

const BY_LENA = { by: 'lena', reason };

describe('at the page of a running service, an operator', () => {
  let stage: ServiceStage;
  const warnings: string[] = [];
  beforeAll(async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((message: unknown) => void warnings.push(String(message)));
    stage = await openServiceStage();
  });
  afterAll(() => stage.close());
  beforeEach(() => warnings.splice(0));
  afterEach(async () => {
    expect(await stage.tidy()).toEqual([]);
  });

  const settingOf = async (subject: string): Promise<Setting | undefined> => {
    const rows = await stage.query<{ value: string }>(
      `SELECT value FROM order_timeout.engine_setting WHERE name = $1`,
      [`control:${subject}`],
    );
    return rows[0] && (JSON.parse(rows[0].value) as Setting);
  };
  const statusOf = async (id: string): Promise<string | undefined> =>
    (await stage.query<{ status: string }>(`SELECT status FROM order_timeout.orders WHERE id = $1`, [id]))[0]?.status;
  const place = async (more: Record<string, unknown> = {}): Promise<string> => {
    const order = anOrder({ lines: [], paymentWindowMs: 300, ...more });
    await stage.call('post', '/orders', order).expect(201);
    return order.id;
  };
  const press = async (page: Page, button: string, confirmed: string): Promise<void> => {
    await page.getByRole('button', { name: button, exact: true }).click();
    await confirm(page, confirmed);
  };

  it('pauses a kind, so that a due order waits, and resumes it, so that it closes', async () => {
    const page = await stage.open('#/now');
    await press(page, 'Pause Payment deadline', 'Pause');
    const row = page.getByRole('row', { name: /Payment deadline/ });
    await row.getByText(`by lena · ${reason}`).waitFor();
    expect(await settingOf('kind:order.payment')).toMatchObject({ pause: BY_LENA });
    expect(warnings).toContainEqual(expect.stringContaining(`operator "lena" changed kind:order.payment`));

    const id = await place();
    // The row shows the age of what waits: its wake-up has come by then, and so has the sweep.
    await row.getByText(/^(?:[4-9]|1\d) sec$/).waitFor({ timeout: 20_000 });
    expect(await statusOf(id)).toBe('PENDING');
    await press(page, 'Resume Payment deadline', 'Resume');
    await until(async () => (await statusOf(id)) === 'CLOSED');
    expect(await settingOf('kind:order.payment')).toMatchObject({ pause: null });
    await row.getByText('Running').waitFor();
  });

  it('pauses a provider, so that an order with its payment is not decided, and resumes it', async () => {
    const page = await stage.open('#/now');
    await press(page, `Pause ${PROVIDER}`, 'Pause');
    await page.getByText(`by lena · ${reason}`).waitFor();
    expect(await settingOf(`provider:${PROVIDER}`)).toMatchObject({ pause: BY_LENA });

    const payment = { reference: 'wait-1', amount: 1_999, currency: 'EUR', script: { buyer: 'pays-after', ms: 0 } };
    await fetch(`${stage.simulatorUrl}/script/payments`, { method: 'POST', body: JSON.stringify(payment) });
    const id = await place({ attempt: { provider: PROVIDER, reference: 'wait-1' } });
    const orderPage = await stage.open(`#/order/${id}`);
    await orderPage
      .getByText(/an operator has paused the provider/)
      .first()
      .waitFor({ timeout: 20_000 });
    expect(await statusOf(id)).toBe('CLOSING');
    await press(page, `Resume ${PROVIDER}`, 'Resume');
    await until(async () => (await statusOf(id)) === 'PAID');
    expect(await settingOf(`provider:${PROVIDER}`)).toMatchObject({ pause: null });
    expect(warnings).toContainEqual(expect.stringContaining(`operator "lena" changed provider:${PROVIDER}`));
  });

  it('limits the calls to a provider, and goes back to what is configured', async () => {
    const page = await stage.open('#/now');
    const limitTo = async (perSecond: string): Promise<void> => {
      await page.getByRole('button', { name: `Set limit: ${PROVIDER}` }).click();
      await page.getByLabel('Calls per second').fill(perSecond);
      await confirm(page, 'Set limit');
    };
    const row = page.getByRole('row', { name: new RegExp(PROVIDER) });
    await limitTo('7');
    await row.getByRole('cell', { name: '7', exact: true }).waitFor();
    expect(await settingOf(`provider:${PROVIDER}`)).toMatchObject({ limit: { ...BY_LENA, perSecond: 7 } });
    await limitTo('');
    await row.getByRole('cell', { name: '100', exact: true }).waitFor();
    expect(await settingOf(`provider:${PROVIDER}`)).toMatchObject({ limit: null });
  });
});

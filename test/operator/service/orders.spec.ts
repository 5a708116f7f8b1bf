import { anOrder } from '../../e2e/running-service';
import { until } from '../../support/engine';
import { confirm, reason } from '../confirm';
import { OPERATOR_KEY, openServiceStage, PROVIDER, type ServiceStage } from '../service-stage';

interface OrderRow {
  readonly status: string;
  readonly auto_close: boolean;
  readonly expires_at: Date;
}

interface HistoryRow {
  readonly to_status: string;
  readonly cause: string;
  readonly actor: string;
  readonly reason: string;
}

describe('at the page of a running service, an operator', () => {
  let stage: ServiceStage;
  beforeAll(async () => {
    stage = await openServiceStage();
    await stage.call('put', '/inventory/apple', { onHand: 1_000 });
  });
  afterAll(() => stage.close());
  afterEach(async () => {
    expect(await stage.tidy()).toEqual([]);
  });

  const placed = async (more: Record<string, unknown> = {}): Promise<string> => {
    const order = anOrder(more);
    await stage.call('post', '/orders', order).expect(201);
    return order.id;
  };
  const rowOf = async (id: string): Promise<OrderRow | undefined> =>
    (await stage.query<OrderRow>(`SELECT * FROM order_timeout.orders WHERE id = $1`, [id]))[0];
  const lastOf = async (id: string): Promise<HistoryRow | undefined> =>
    (
      await stage.query<HistoryRow>(
        `SELECT * FROM order_timeout.order_history WHERE order_id = $1 ORDER BY version DESC LIMIT 1`,
        [id],
      )
    )[0];
  const byLena = { cause: 'operator', actor: 'lena', reason };

  it('goes from a number of the overview to the orders behind it, and to one of them', async () => {
    const id = await placed({ merchantId: 'overview-shop' });
    const page = await stage.open('#/now');
    await page.getByRole('link', { name: /^Pending/ }).click();
    await page.getByRole('link', { name: id, exact: true }).click();
    await page.getByRole('heading', { name: `Order ${id}`, level: 1 }).waitFor();
    await page.getByRole('timer', { name: 'Time left' }).waitFor();
    await page.getByText('Placed: Pending').waitFor();
  });

  it('finds an order by the reference of its payment', async () => {
    const id = await placed({ attempt: { provider: 'p', reference: 'find-me-7' } });
    const page = await stage.open('#/now');
    await page.getByRole('searchbox').fill('find-me-7');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: id, exact: true }).waitFor();
  });

  it('extends an order', async () => {
    const id = await placed();
    const before = (await rowOf(id))?.expires_at.getTime() ?? 0;
    const page = await stage.open(`#/order/${id}`);
    await page.getByRole('button', { name: 'Extend the deadline' }).click();
    await page.getByLabel('By', { exact: true }).fill('2h');
    await confirm(page, 'Extend');
    expect((await rowOf(id))?.expires_at.getTime()).toBe(before + 7_200_000);
    expect(await lastOf(id)).toMatchObject(byLena);
    await page.locator('q', { hasText: reason }).waitFor();
  });

  it('turns auto-close off and on again', async () => {
    const id = await placed();
    const page = await stage.open(`#/order/${id}`);
    await page.getByRole('button', { name: 'Turn auto-close off' }).click();
    await confirm(page, 'Turn off');
    expect(await rowOf(id)).toMatchObject({ auto_close: false });
    await page.getByRole('button', { name: 'Turn auto-close on' }).click();
    await confirm(page, 'Turn on');
    expect(await rowOf(id)).toMatchObject({ auto_close: true });
    expect(await lastOf(id)).toMatchObject(byLena);
  });

  it.each([
    ['Cancel the order', 'Cancel the order', 'CANCELLED', 'Canceled'],
    ['Close the order now', 'Close the order', 'CLOSED', 'Closed'],
  ])('chooses "%s", and the stock is released', async (button, confirmed, status, shown) => {
    const id = await placed();
    const page = await stage.open(`#/order/${id}`);
    await page.getByRole('button', { name: button }).click();
    await confirm(page, confirmed);
    expect(await rowOf(id)).toMatchObject({ status });
    expect(await lastOf(id)).toMatchObject({ to_status: status, ...byLena });
    const stock = await stage.query(`SELECT state FROM order_timeout.reservation WHERE order_id = $1`, [id]);
    expect(stock).toEqual([{ state: 'RELEASED' }]);
    await page.locator('.order-state').getByText(shown, { exact: true }).waitFor();
  });

  it('looks up a payment that nobody has reported', async () => {
    const payment = { reference: 'look-1', amount: 1_999, currency: 'EUR', script: { buyer: 'pays-after', ms: 0 } };
    await fetch(`${stage.simulatorUrl}/script/payments`, { method: 'POST', body: JSON.stringify(payment) });
    const id = await placed({ attempt: { provider: PROVIDER, reference: 'look-1' } });
    const page = await stage.open(`#/order/${id}`);
    await page.getByRole('button', { name: 'Look up the payment' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Look up' }).click();
    await page.getByText('The providers were asked.').waitFor();
    expect(await rowOf(id)).toMatchObject({ status: 'PAID' });
    await page.getByText('simulator says Paid').waitFor();
  });

  it('sees personal data after a reason, and that is recorded', async () => {
    const id = await placed({ metadata: { buyer: 'Ada L.' } });
    const page = await stage.open(`#/order/${id}`);
    expect(await page.content()).not.toContain('Ada L.');
    await page.getByRole('button', { name: 'Show personal data' }).click();
    await confirm(page, 'Show');
    await page.getByText('Ada L.').waitFor();
    expect(await lastOf(id)).toMatchObject({ ...byLena, to_status: 'PENDING' });
  });

  it('closes, cancels, and extends all orders that match, after a preview', async () => {
    const ids = [await placed({ merchantId: 'bulk' }), await placed({ merchantId: 'bulk' })];
    const other = await placed({ merchantId: 'other' });
    const page = await stage.open('#/orders?merchantId=bulk');
    const act = async (action: string, confirmed: string): Promise<void> => {
      await page.getByRole('button', { name: `${action} all orders that match` }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill(reason);
      await dialog.getByRole('button', { name: 'Preview' }).click();
      await dialog.getByRole('button', { name: confirmed }).click();
      await dialog.getByText('Done.').waitFor();
      await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    };
    const before = (await rowOf(ids[0] ?? ''))?.expires_at.getTime() ?? 0;
    await act('Extend', 'Extend 2 orders');
    expect((await rowOf(ids[0] ?? ''))?.expires_at.getTime()).toBe(before + 1_800_000);
    expect(await lastOf(ids[1] ?? '')).toMatchObject(byLena);
    await act('Close', 'Close 2 orders');
    for (const id of ids) expect(await rowOf(id)).toMatchObject({ status: 'CLOSED' });
    expect(await rowOf(other)).toMatchObject({ status: 'PENDING' });
    await placed({ merchantId: 'bulk' });
    await act('Cancel', 'Cancel 1 order');
    const left = await stage.query(
      `SELECT 1 FROM order_timeout.orders WHERE merchant_id = 'bulk' AND status = 'PENDING'`,
    );
    expect(left).toEqual([]);
  });

  it('sees hostile text as text', async () => {
    const hostile = '"><img src=x onerror="document.title=1"><script>document.title=2</script>';
    const id = await placed({ metadata: { note: hostile }, attempt: { provider: 'p', reference: hostile } });
    const page = await stage.open(`#/order/${id}`);
    await page.getByRole('button', { name: 'Show personal data' }).click();
    await confirm(page, 'Show');
    await page.locator('pre', { hasText: 'onerror' }).first().waitFor();
    await page.getByRole('cell', { name: hostile }).first().waitFor();
    expect(await page.title()).toBe(`Order ${id} – Order timeouts`);
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  it('signs out, and the session is over', async () => {
    const page = await stage.open('#/now');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Operator key').waitFor();
    await page.reload();
    await page.getByLabel('Operator key').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not valid.').waitFor();
    await page.getByLabel('Operator key').fill(OPERATOR_KEY);
    await page.keyboard.press('Enter');
    await until(() => page.getByRole('link', { name: 'Overview' }).isVisible());
  });
});

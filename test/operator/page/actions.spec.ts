import { confirm, reason } from '../confirm';
import { refunds, unmatched } from '../recorded/attention';
import { order } from '../recorded/orders';
import { session } from '../recorded/overview';
import { Stage } from '../stage';

describe('an action of the operator page', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.build();
  });
  afterAll(() => stage.close());
  afterEach(async () => {
    expect(await stage.tidy()).toEqual([]);
  });

  it('is sent once, with its reason, and only after a confirmation', async () => {
    const { page } = await stage.open('#/order/o-2030-03-01-70412');
    await page.getByRole('button', { name: 'Extend the deadline' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Extend', exact: true }).click();
    await dialog.getByText('Give a reason.').waitFor();
    expect(stage.api.actions).toEqual([]);
    await dialog.getByLabel('By', { exact: true }).fill('2h');
    await confirm(page, 'Extend');
    await page.getByText('The deadline is moved.').waitFor();
    expect(stage.api.actions).toMatchObject([
      { path: 'orders/o-2030-03-01-70412/extend', body: { byMs: 7_200_000, reason }, csrf: session.csrf },
    ]);
  });

  it('shows why it was refused, and can be tried again', async () => {
    const { page } = await stage.open('#/order/o-2030-03-01-70412');
    const path = 'orders/o-2030-03-01-70412/cancel';
    stage.api.answers.set(path, {
      status: 409,
      json: { code: 'ORDER_NOT_CANCELLABLE', detail: 'the order is PAID' },
    });
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.getByRole('button', { name: 'Cancel the order' }).click();
    await dialog.getByText('the order is PAID').waitFor();
    stage.api.answers.clear();
    await confirm(page, 'Cancel the order');
    expect(stage.api.actions.map((call) => call.path)).toEqual([path, path]);
  });

  it('on many orders shows first what will happen, then the progress', async () => {
    const { page } = await stage.open('#/orders?status=PENDING&merchantId=shop-berlin');
    await page.getByRole('button', { name: 'Close all orders that match' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByRole('button', { name: 'Close 1,250 orders' }).waitFor();
    expect(stage.api.actions.map(({ body }) => [body?.['dryRun'], body?.['cursor']])).toEqual([
      [true, undefined],
      [true, 'cGFydC0y'],
    ]);
    await dialog.getByText('BUSY').waitFor();
    await dialog.getByRole('button', { name: 'Close 1,250 orders' }).click();
    await dialog.getByText('Done.').waitFor();
    await dialog.getByText('1,264 orders handled').waitFor();
    expect(stage.api.actions.slice(2)).toMatchObject([
      {
        path: 'orders/bulk/actions/close',
        body: { dryRun: false, filter: { status: ['PENDING'], merchantId: 'shop-berlin' }, reason },
      },
      { path: 'orders/bulk/actions/close', body: { dryRun: false, cursor: 'cGFydC0y' } },
    ]);
  });

  it('on many orders can be stopped', async () => {
    const { page } = await stage.open('#/orders?status=PENDING');
    let answerFirst = (): void => {};
    stage.api.answers.set('orders/bulk/actions/extend', async () => {
      await new Promise<void>((resolve) => (answerFirst = resolve));
      return { status: 200, json: { dryRun: true, count: 1, outcomes: { extended: 1 }, sample: [], next: 'more' } };
    });
    await page.getByRole('button', { name: 'Extend all orders that match' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    answerFirst();
    await dialog.getByRole('button', { name: 'Extend 1 order', exact: true }).waitFor();
    expect(stage.api.countOf('orders/bulk/actions/extend')).toBe(1);
  });

  it('on parked timeouts takes those that were chosen, or all of a reason', async () => {
    const { page } = await stage.open('#/parked');
    await page.getByLabel('Choose o-2030-03-01-60311').check();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await confirm(page, 'Replay');
    await page
      .getByRole('row', { name: /insufficient balance/ })
      .first()
      .getByRole('button', { name: 'Discard all' })
      .click();
    await confirm(page, 'Discard');
    await page.getByText('Discarded: 5').waitFor();
    const [one, group] = stage.api.actions;
    expect(one).toMatchObject({
      path: 'parked-timeouts/replay',
      body: { timeouts: [{ kind: 'order.payment', key: 'o-2030-03-01-60311' }], reason },
    });
    expect(group?.path).toBe('parked-timeouts/discard');
    expect(group?.body?.['timeouts']).toHaveLength(5);
  });

  it('on chosen orders of parked timeouts says which were refused', async () => {
    const { page } = await stage.open('#/parked?kind=order.payment');
    const refused = { status: 409, json: { code: 'ORDER_HAS_MONEY', detail: 'refund it first' } };
    stage.api.answers.set('orders/o-2030-03-01-60311/close', refused);
    await page.getByLabel('Choose all on this page').check();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('o-2030-03-01-60312').waitFor();
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.getByRole('button', { name: 'Close orders' }).click();
    await dialog.getByText('ORDER_HAS_MONEY: 1').waitFor();
    await page.getByText('Closed, or being closed: 1').waitFor();
    expect(stage.api.actions.map(({ path }) => path)).toEqual([
      'orders/o-2030-03-01-60311/close',
      'orders/o-2030-03-01-60312/close',
    ]);
  });

  it('on a group of parked timeouts gives all of them another time, which must be in the future', async () => {
    const { page } = await stage.open('#/parked');
    await page
      .getByRole('row', { name: /insufficient balance/ })
      .first()
      .getByText('Reschedule all')
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Try again in').fill('-5');
    await dialog.getByRole('button', { name: 'Reschedule' }).click();
    await dialog.getByText('Give a time from now such as').waitFor();
    await dialog.getByLabel('Try again in').fill('2h');
    await confirm(page, 'Reschedule');
    const [action] = stage.api.actions;
    expect(action).toMatchObject({ path: 'parked-timeouts/reschedule', body: { afterMs: 7_200_000, reason } });
    expect(action?.body?.['timeouts']).toHaveLength(5);
  });

  it('on a phone takes all of a page, too', async () => {
    const { page } = await stage.open('#/refunds', { width: 390, height: 844 });
    await page.getByText('Choose all on this page').click();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await confirm(page, 'Replay');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(stage.api.actions.map(({ body }) => body?.['timeouts'])).toEqual([
      refunds.map(({ number }) => ({ kind: 'payment.refund', key: number })),
    ]);
  });

  it('on failed refunds and on money that waits takes those that were chosen', async () => {
    const { page } = await stage.open('#/refunds');
    await page.getByLabel('Choose 2030022822001470').check();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await confirm(page, 'Replay');
    await page.getByRole('link', { name: 'Unmatched payments' }).click();
    await page.getByLabel('Choose all on this page').check();
    expect(await page.locator('.panel-aside').getByRole('button', { name: 'Refund' }).count()).toBe(0);
    await page.getByLabel('Choose pi_3QxK9AAb22').uncheck();
    await page.locator('.panel-aside').getByRole('button', { name: 'Refund' }).click();
    await confirm(page, 'Refund');
    await page.getByText('Refunds begun: 2').waitFor();
    expect(stage.api.actions.map(({ path }) => path)).toEqual([
      'parked-timeouts/replay',
      'orders/o-2030-03-01-58002/refund',
      'orders/o-2030-03-01-70299/refund',
    ]);
  });

  it.each<[view: string, button: string, confirmed: string, path: string, body: object]>([
    [
      '#/unmatched',
      'Refund the payment: 2030030122009981',
      'Refund',
      'orders/o-2030-03-01-58002/refund',
      { provider: 'alipay' },
    ],
    ['#/unmatched', 'Settle the payment: pi_3QxK9AAb22', 'Settle', 'payments/unmatched/185/settle', {}],
    ['#/now', 'Pause Payment deadline', 'Pause', 'kinds/order.payment/pause', {}],
    ['#/now', 'Resume Reminder', 'Resume', 'kinds/order.reminder/resume', {}],
    ['#/now', 'Pause alipay', 'Pause', 'providers/alipay/pause', {}],
    ['#/now', 'Set limit: alipay', 'Set limit', 'providers/alipay/limit', { perSecond: 50 }],
    [
      '#/order/o-2030-03-01-70412',
      'Turn auto-close off',
      'Turn off',
      'orders/o-2030-03-01-70412/auto-close',
      { enabled: false },
    ],
    [
      '#/order/o-2030-03-01-70412',
      'Refund the payment 2030030122001476',
      'Refund',
      'orders/o-2030-03-01-70412/refund',
      { provider: 'alipay', reference: '2030030122001476' },
    ],
  ])('in %s: %s', async (view, button, confirmed, path, body) => {
    const { page } = await stage.open(view);
    await page.getByRole('button', { name: button, exact: true }).click();
    await confirm(page, confirmed);
    expect(stage.api.actions).toMatchObject([{ path, body: { ...body, reason } }]);
  });

  it('assigns money to the order that was named', async () => {
    const { page } = await stage.open('#/unmatched');
    await page.getByRole('button', { name: 'Assign the payment to an order: pi_3QxK9AAb22' }).click();
    await page.getByLabel('Order id').fill(' o-7 ');
    await confirm(page, 'Assign');
    expect(stage.api.actions).toMatchObject([
      { path: 'payments/unmatched/185/assign', body: { orderId: 'o-7', reason } },
    ]);
  });

  it('reopens what was settled, on the page of its order', async () => {
    const [kept] = unmatched;
    const settled = { ...kept, handling: 'settled' };
    stage.api.answers.set(`orders/${order.id}`, { status: 200, json: { ...order, unmatched: [settled] } });
    const { page } = await stage.open(`#/order/${order.id}`);
    expect(await page.getByRole('button', { name: `Settle the payment: ${settled.reference}` }).count()).toBe(0);
    await page.getByRole('button', { name: `Reopen the payment: ${settled.reference}` }).click();
    await confirm(page, 'Reopen');
    await page.getByText('The payment waits for a person again.').waitFor();
    expect(stage.api.actions).toMatchObject([{ path: `payments/unmatched/${settled.id}/reopen`, body: { reason } }]);
  });

  it('shows personal data only on request, and hides it again', async () => {
    const { page } = await stage.open('#/order/o-2030-03-01-70412');
    expect(await page.getByText('Ada L.').count()).toBe(0);
    await page.getByRole('button', { name: 'Show personal data' }).click();
    await confirm(page, 'Show');
    await page.getByText('Ada L.').waitFor();
    await page.getByRole('button', { name: 'Hide' }).click();
    expect(await page.getByText('Ada L.').count()).toBe(0);
  });

  it('on messages takes those that were chosen', async () => {
    const { page } = await stage.open('#/messages');
    const queue = page.getByRole('region', { name: 'Parked queue' });
    await queue.getByLabel('Choose all on this page').check();
    await queue.getByRole('button', { name: 'Discard' }).click();
    await confirm(page, 'Discard');
    expect(stage.api.actions[0]?.body?.['ids']).toEqual(['0195513a-7f20-7cc1-9a51-8e1d64d0a1f2', '']);
  });

  it('is not offered to a role that may only read', async () => {
    stage.api.session = { ...session, roles: ['read'] };
    const views = [
      '#/now',
      '#/orders?status=PENDING',
      '#/order/o-2030-03-01-70412',
      '#/parked',
      '#/unmatched',
      '#/refunds',
    ];
    for (const view of views) {
      const { page } = await stage.open(view);
      const buttons = await page.locator('main').getByRole('button').allInnerTexts();
      expect(buttons.filter((text) => !['Apply', 'Clear'].includes(text))).toEqual([]);
      expect(await page.locator('main td input').count()).toBe(0);
    }
  });
});

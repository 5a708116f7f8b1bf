import { connect } from 'amqplib';
import { anOrder, PREFIX } from '../../e2e/running-service';
import { until } from '../../support/engine';
import { confirm, reason } from '../confirm';
import { openServiceStage, type ServiceStage } from '../service-stage';

describe('what waits for an operator at the page of a running service', () => {
  let stage: ServiceStage;
  beforeAll(async () => {
    stage = await openServiceStage();
  });
  afterAll(() => stage.close());
  afterEach(async () => {
    expect(await stage.tidy()).toEqual([]);
  });

  const placed = async (more: Record<string, unknown> = {}): Promise<string> => {
    const order = anOrder({ lines: [], ...more });
    await stage.call('post', '/orders', order).expect(201);
    return order.id;
  };
  const pay = (id: string, reference: string) =>
    stage.call('post', `/orders/${id}/paid`, { provider: 'p', reference, amount: 1_999, currency: 'EUR' });
  const park = (kind: string, key: string, error: string): Promise<unknown> =>
    stage.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, last_error)
       VALUES ($1, $2, 1, now(), now(), 'parked', $3)
       ON CONFLICT (kind, key) DO UPDATE SET state = 'parked', last_error = $3`,
      [kind, key, error],
    );
  const timeouts = (kind: string): Promise<{ key: string; state: string }[]> =>
    stage.query(`SELECT key, state FROM order_timeout.timeout WHERE kind = $1 ORDER BY key`, [kind]);
  const unmatchedOf = async (reference: string): Promise<Record<string, unknown> | undefined> =>
    (
      await stage.query<Record<string, unknown>>(
        `SELECT handling, resolved_by, resolution, order_id FROM order_timeout.unmatched_payment WHERE reference = $1`,
        [reference],
      )
    )[0];

  it('parked timeouts are replayed one by one, and discarded by their reason', async () => {
    const id = await placed();
    await park('order.payment', id, 'the disk of shop "a" is full');
    for (const key of ['x-1', 'x-2', 'x-3']) await park('host.kind', key, `no answer after ${key.slice(2)} tries`);
    const page = await stage.open('#/parked');
    await page.getByLabel(`Choose ${id}`).check();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await confirm(page, 'Replay');
    expect(await timeouts('order.payment')).toEqual([{ key: id, state: 'pending' }]);
    const group = page.getByRole('row', { name: /no answer after/ }).filter({ hasText: 'Discard all' });
    await group.getByRole('button', { name: 'Discard all' }).click();
    await confirm(page, 'Discard');
    await page.getByText('Discarded: 3').waitFor();
    expect(await timeouts('host.kind')).toEqual([]);
    await page.getByText('No timeout is parked.').first().waitFor();
  });

  it('parked timeouts get another time, and those of orders another deadline', async () => {
    await park('host.kind', 'y-1', 'the mail server is away');
    const ids = [await placed(), await placed()];
    for (const id of ids) await park('order.payment', id, 'the disk is full');
    const page = await stage.open('#/parked?kind=host.kind');
    await page.getByLabel('Choose y-1').check();
    await page.getByRole('button', { name: 'Reschedule', exact: true }).click();
    await page.getByLabel('Try again in').fill('2h');
    await confirm(page, 'Reschedule');
    await page.getByText('Rescheduled: 1').waitFor();
    const inMs = await stage.query(
      `SELECT state, round(extract(epoch FROM next_attempt_at - now()) / 60)::int AS minutes
         FROM order_timeout.timeout WHERE key = 'y-1'`,
    );
    expect(inMs).toEqual([{ state: 'pending', minutes: 120 }]);
    await page
      .getByRole('row', { name: /the disk is full/ })
      .first()
      .getByText('Extend all')
      .click();
    await page.getByLabel('New deadline in').fill('3h');
    await confirm(page, 'Extend');
    await page.getByText('Extended: 2').waitFor();
    const extended = await stage.query(
      `SELECT t.state, h.actor, h.reason, round(extract(epoch FROM o.expires_at - now()) / 60)::int AS minutes
         FROM order_timeout.orders o JOIN order_timeout.timeout t ON t.kind = 'order.payment' AND t.key = o.id
         JOIN order_timeout.order_history h ON h.order_id = o.id AND h.version = o.version WHERE o.id = ANY($1)`,
      [ids],
    );
    expect(extended).toEqual(ids.map(() => ({ state: 'pending', actor: 'lena', reason, minutes: 180 })));
  });

  it('orders whose timeouts are parked for one reason are closed', async () => {
    const ids = [await placed(), await placed()];
    for (const id of ids) await park('order.payment', id, 'the disk is full');
    const page = await stage.open('#/parked');
    await page
      .getByRole('row', { name: /the disk is full/ })
      .first()
      .getByText('Close all')
      .click();
    await confirm(page, 'Close orders');
    await page.getByText('Closed, or being closed: 2').waitFor();
    const closed = `SELECT h.actor, h.reason FROM order_timeout.orders o JOIN order_timeout.order_history h
      ON h.order_id = o.id AND h.version = o.version WHERE o.status = 'CLOSED' AND o.id = ANY($1)`;
    expect(await stage.query(closed, [ids])).toEqual(ids.map(() => ({ actor: 'lena', reason })));
    expect(await timeouts('order.payment')).not.toContainEqual(expect.objectContaining({ state: 'parked' }));
  });

  it('money is settled', async () => {
    await pay('nobody-1', 'settle-1').expect(404);
    const page = await stage.open('#/unmatched');
    await page.getByRole('button', { name: 'Settle the payment: settle-1' }).click();
    await confirm(page, 'Settle');
    expect(await unmatchedOf('settle-1')).toMatchObject({
      ...{ handling: 'settled', resolved_by: 'lena', resolution: reason },
    });
  });

  it('several payments are settled together', async () => {
    for (const reference of ['many-1', 'many-2']) await pay('nobody-3', reference).expect(404);
    const page = await stage.open('#/unmatched');
    for (const reference of ['many-1', 'many-2']) await page.getByLabel(`Choose ${reference}`).check();
    await page.locator('.panel-aside').getByRole('button', { name: 'Settle' }).click();
    await confirm(page, 'Settle');
    await page.getByText('Settled: 2').waitFor();
    for (const reference of ['many-1', 'many-2'])
      expect(await unmatchedOf(reference)).toMatchObject({ handling: 'settled', resolved_by: 'lena' });
  });

  it('money is assigned to its order', async () => {
    await pay('nobody-2', 'assign-1').expect(404);
    const id = await placed();
    const page = await stage.open('#/unmatched');
    await page.getByRole('button', { name: 'Assign the payment to an order: assign-1' }).click();
    await page.getByLabel('Order id').fill(id);
    await confirm(page, 'Assign');
    expect(await stage.query(`SELECT status FROM order_timeout.orders WHERE id = $1`, [id])).toEqual([
      { status: 'PAID' },
    ]);
  });

  it('a closed order is revived with the money that came too late', async () => {
    const id = await placed();
    await stage.call('post', `/orders/${id}/close`, { reason }).expect(200);
    await pay(id, 'late-1').expect(200);
    const page = await stage.open(`#/order/${id}`);
    await page.getByRole('button', { name: 'Revive the order' }).click();
    await confirm(page, 'Revive');
    expect(await stage.query(`SELECT status FROM order_timeout.orders WHERE id = $1`, [id])).toEqual([
      { status: 'PAID' },
    ]);
  });

  it('late money is refunded, and a refund that has failed is replayed', async () => {
    const id = await placed();
    await stage.call('post', `/orders/${id}/close`, { reason }).expect(200);
    await pay(id, 'late-2').expect(200);
    await stage.query(`UPDATE order_timeout.payment_attempt SET paid_source = 'provider' WHERE reference = 'late-2'`);
    const page = await stage.open('#/unmatched');
    await page.getByRole('button', { name: 'Refund the payment: late-2' }).click();
    await confirm(page, 'Refund');
    const refunds = `SELECT number, requested_by FROM order_timeout.refund WHERE reference = 'late-2'`;
    const [refund] = await stage.query<{ number: string; requested_by: string }>(refunds);
    expect(refund?.requested_by).toBe('lena');
    await park('payment.refund', refund?.number ?? '', 'no payment provider "p" is configured');
    await page.getByRole('link', { name: 'Refunds' }).click();
    await page.getByLabel('Choose late-2').check();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await confirm(page, 'Replay');
    await page.getByText('Replayed: 1').waitFor();
    const [timeout] = await stage.query<{ state: string }>(
      `SELECT state FROM order_timeout.timeout WHERE kind = 'payment.refund'`,
    );
    expect(timeout?.state).toBe('pending');
  });

  it('rows of the outbox are discarded', async () => {
    await stage.query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at, parked_reason)
       VALUES (gen_random_uuid(), 'event', 'order.closed', '{}', 'infinity', 'it is too large')`,
    );
    const page = await stage.open('#/messages');
    const outbox = page.getByRole('region', { name: 'Parked rows of the outbox' });
    await outbox.getByLabel('Choose all on this page').check();
    await outbox.getByRole('button', { name: 'Discard' }).click();
    await confirm(page, 'Discard');
    await page.getByText('Discarded: 1').waitFor();
    expect(await stage.query(`SELECT 1 FROM order_timeout.outbox WHERE parked_reason IS NOT NULL`)).toEqual([]);
  });

  it('messages on the broker are discarded', async () => {
    const connection = await connect(stage.vhost.url);
    const channel = await connection.createConfirmChannel();
    const headers = { 'x-ot-error-code': 'INVALID', 'x-ot-error-reason': 'no id' };
    for (const messageId of ['one', 'two']) {
      channel.publish(`${PREFIX}.parked`, 'order.unknown', Buffer.from('{}'), { messageId, headers, persistent: true });
    }
    await channel.waitForConfirms();
    const page = await stage.open('#/messages');
    await page.getByLabel('Choose one').check();
    await page.getByRole('region', { name: 'Parked queue' }).getByRole('button', { name: 'Discard' }).click();
    await confirm(page, 'Discard');
    await page.getByText('Discarded: 1').waitFor();
    await until(async () => (await channel.checkQueue(`${PREFIX}.parked`)).messageCount === 1);
    await connection.close();
  });
});

import { HandleNotification } from '../../../src/orders/pay/handle-notification';
import { ErasePersonalData } from '../../../src/orders/retention/purge-orders';
import { type Notification } from '../../../src/payments';
import { paymentSteps } from './payment-steps';
import { dueOf, fill, type newOrder, openShop, purgeOf, SCHEMA, settle, settleUntilDone, type Shop } from './shop';

const ANNA = { cause: 'api', actor: 'anna' } as const;
const DAY_MS = 86_400_000;

/** Bank transfers, static QR codes, and own gateways take money under one reference more than once. */
describe('a second payment under one reference', () => {
  let shop: Shop;
  let told: Notification;
  let post: () => Promise<string | undefined>;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], merchants: { refunder: { latePayment: 'refund' } } });
    await fill(shop, { apple: 1_000 });
    const notifications = {
      read: async () => told,
      reply: (verdict: string) => ({ status: 200, body: verdict }),
    };
    Object.assign(shop.provider, { notifications });
    const useCase = shop.services.get(HandleNotification);
    post = async () => (await useCase.execute('fake', { headers: {}, rawBody: Buffer.alloc(0) }))?.body;
  });
  afterAll(() => shop.database.drop());

  const { attempt, placed, report, expire, statusOf } = paymentSteps(() => shop);
  type Overrides = Parameters<typeof newOrder>[0];
  const lines = [{ sku: 'apple', quantity: 1, unitAmount: 100 }];
  /** An order of 100 with this attempt. */
  const ordered = (reference: string, more: Overrides = {}) =>
    placed({ amount: 100, lines, attempt: attempt(reference), ...more });
  const notify = async (reference: string, transactionId: string, amount: number, at = new Date()): Promise<void> => {
    const money = { amount: BigInt(amount), currency: 'EUR', paidAt: at, transactionId };
    told = { type: 'PAID', reference, ...money, evidence: { posted: true } };
    expect(await post()).toBe('accepted');
  };
  const finds = (reference: string, transactionId: string, amount: number): void => {
    const money = { amount: BigInt(amount), currency: 'EUR', paidAt: new Date(), transactionId, evidence: {} };
    shop.provider.answerQuery(reference, { type: 'PAID', ...money });
    shop.provider.answerClose(reference, { type: 'PAID' });
  };
  const texts = async (sql: string, ...values: unknown[]): Promise<string[]> =>
    (await shop.dataSource.query<{ text: string }[]>(sql, values)).map(({ text }) => text);
  const attemptsOf = (id: string) =>
    texts(
      `SELECT reference || ' ' || status || COALESCE(' ' || paid_amount, '') AS text
         FROM ${SCHEMA}.payment_attempt WHERE order_id = $1 ORDER BY created_at, reference`,
      id,
    );
  const rowsOf = (...references: string[]) =>
    texts(
      `SELECT reference || ' ' || reason || ' ' || amount || ' ' || handling AS text
         FROM ${SCHEMA}.unmatched_payment WHERE reference = ANY($1) ORDER BY id`,
      references,
    );
  const eventsAbout = (...references: string[]) =>
    texts(
      `SELECT body->>'reference' || ' ' || (body->>'reason') || ' ' || (body->>'amount') AS text FROM ${SCHEMA}.outbox
        WHERE routing_key = 'order.payment_late' AND body->>'reference' = ANY($1) ORDER BY id`,
      references,
    );
  const refundsOf = (id: string) =>
    texts(`SELECT reference || ' ' || amount AS text FROM ${SCHEMA}.refund WHERE order_id = $1`, id);
  const idOf = async (reference: string): Promise<string> =>
    (await texts(`SELECT id::text AS text FROM ${SCHEMA}.unmatched_payment WHERE reference = $1`, reference))[0] ?? '';
  const assign = async (reference: string, orderId: string) =>
    shop.assign.execute({ id: await idOf(reference), orderId, reason: 'the receipt names it' }, { by: ANNA });
  const settleRow = async (reference: string): Promise<void> => {
    const settlement = { id: await idOf(reference), reason: 'paid back by wire' };
    expect(await shop.settleUnmatched.execute(settlement, { by: ANNA })).toMatchObject({ outcome: 'settled' });
  };
  const refund = (orderId: string, reference: string) =>
    shop.refund.execute({ orderId, ...attempt(reference), reason: 'paid twice' }, { by: ANNA });
  const close = async (id: string): Promise<void> => {
    await expire(id);
    await settleUntilDone(shop, [id]);
    expect(await statusOf(id)).toBe('CLOSED');
  };

  describe('that no order has registered', () => {
    it('is a row and an event of its own', async () => {
      await notify('nobodys', 'n-1', 100);
      await notify('nobodys', 'n-2', 250);
      for (const again of [1, 2]) {
        await notify('nobodys', 'n-2', 250);
        await notify('nobodys', `n-${again}`, again === 1 ? 100 : 250);
      }
      expect(await rowsOf('nobodys', 'n-2')).toEqual(['nobodys unknown-order 100 kept', 'n-2 unknown-order 250 kept']);
      expect(await eventsAbout('nobodys', 'n-2')).toEqual(['nobodys unknown-order 100', 'n-2 unknown-order 250']);
      const row = await shop.unmatched.get(await idOf('n-2'));
      expect(row?.evidence).toMatchObject({ transactionId: 'n-2', reference: 'nobodys', posted: true });
    });

    it('is a row of its own if the provider states no valid amount for either', async () => {
      await notify('odd', 'odd-1', -5);
      await notify('odd', 'odd-2', -7);
      await notify('odd', 'odd-2', -7);
      expect(await rowsOf('odd', 'odd-2')).toEqual(['odd invalid-amount 0 kept', 'odd-2 invalid-amount 0 kept']);
      expect(await eventsAbout('odd', 'odd-2')).toEqual(['odd invalid-amount 0', 'odd-2 invalid-amount 0']);
    });

    it('is a row of its own if both arrive at the same time', async () => {
      const money = { ...attempt('together'), reason: 'unknown-order', handling: 'kept', orderId: null } as const;
      const keep = (transactionId: string, amount: bigint) =>
        shop.dataSource.transaction(async (tx) => {
          const row = { ...money, transactionId, amount, currency: 'EUR', merchantAccount: null };
          await shop.store.keepUnmatched(tx, [{ ...row, source: 'provider', evidence: {}, now: new Date() }]);
        });
      await Promise.all([keep('tg-1', 100n), keep('tg-2', 250n), keep('tg-3', 70n)]);
      const rows = await rowsOf('together', 'tg-1', 'tg-2', 'tg-3');
      expect(rows.map((row) => row.split(' ')[2]).sort()).toEqual(['100', '250', '70']);
    });

    it('goes to the order that registers the reference, with the first, and is never refunded automatically', async () => {
      await notify('later', 'l-1', 50);
      await notify('later', 'l-2', 50);
      await notify('later', 'l-3', 70);
      const id = await placed({ amount: 100, lines });
      await shop.register.execute({ orderId: id, ...attempt('later') });
      await settle(shop, [id]);
      const booked = ['later PAID 50', 'l-2 PAID 50', 'l-3 PAID 70'];
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', booked]);
      expect(await rowsOf('l-2', 'l-3')).toEqual([
        'l-2 unknown-order 50 adopted',
        'l-3 unknown-order 70 adopted',
        'l-3 surplus 70 kept',
      ]);
      await notify('later', 'l-2', 50);
      expect([await attemptsOf(id), await refundsOf(id)]).toEqual([booked, []]);
    });

    it('pays the order when its notification is repeated after the registration, and its row is closed', async () => {
      await notify('again', 'g-1', 50);
      await notify('again', 'g-2', 50);
      const id = await placed({ amount: 100, lines });
      await shop.register.execute({ orderId: id, ...attempt('again') });
      await notify('again', 'g-2', 50);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['again PAID 50', 'g-2 PAID 50']]);
      expect(await rowsOf('g-2')).toEqual(['g-2 unknown-order 50 adopted']);
    });

    it('pays an order for which the first one is too old, and leaves that to a person', async () => {
      await notify('aged', 'ag-1', 100);
      await shop.dataSource.query(
        `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE reference = 'aged'`,
      );
      const id = await ordered('aged');
      await notify('aged', 'ag-2', 100);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['aged PAID 100']]);
      expect(await rowsOf('aged', 'ag-2')).toEqual(['aged unknown-order 100 kept']);
      await report(id, 'aged', 100, 'of-the-shop');
      expect(await rowsOf('aged', 'ag-1', 'ag-2')).toEqual(['aged unknown-order 100 kept']);
      expect(await attemptsOf(id)).toEqual(['aged PAID 100']);
    });

    it('stays with the order that a person has assigned it to', async () => {
      await notify('split', 's-1', 100);
      await notify('split', 's-2', 100);
      const [first, second] = [await placed({ amount: 100, lines }), await placed({ amount: 100, lines })];
      await assign('split', first);
      expect(await assign('s-2', second)).toMatchObject({ outcome: 'assigned', booked: 'paid' });
      await notify('split', 's-2', 100);
      await notify('split', 's-1', 100);
      expect([await attemptsOf(first), await attemptsOf(second)]).toEqual([['split PAID 100'], ['s-2 PAID 100']]);
      expect(await rowsOf('split', 's-2')).toEqual([
        'split unknown-order 100 adopted',
        's-2 unknown-order 100 adopted',
      ]);
    });

    it('waits for a person although the first one was settled', async () => {
      await notify('wired', 'w-1', 100);
      await settleRow('wired');
      await notify('wired', 'w-2', 100);
      expect(await rowsOf('wired', 'w-2')).toEqual(['wired unknown-order 100 settled', 'w-2 unknown-order 100 kept']);
    });
  });

  describe('of an attempt that has one', () => {
    it('is surplus of a paid order: a row, an event, and no refund', async () => {
      const id = await ordered('paid');
      await notify('paid', 'p-1', 100);
      await notify('paid', 'p-7', 999);
      await notify('paid', 'p-7', 999);
      await notify('paid', 'p-1', 100);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['paid PAID 100', 'p-7 PAID 999']]);
      expect(await rowsOf('paid', 'p-7')).toEqual(['p-7 surplus 999 kept']);
      expect(await eventsAbout('paid', 'p-7')).toEqual(['p-7 surplus 999']);
      expect(await refundsOf(id)).toEqual([]);
    });

    it('is surplus although its provider took it before the first', async () => {
      const id = await ordered('before');
      await notify('before', 'b-2', 100, new Date('2026-01-02T00:00:00Z'));
      await notify('before', 'b-1', 100, new Date('2026-01-01T00:00:00Z'));
      expect([await rowsOf('before', 'b-1'), await refundsOf(id)]).toEqual([['b-1 surplus 100 kept'], []]);
    });

    it('pays the order with the first: 50 + 50 of 100', async () => {
      const id = await ordered('halves');
      await notify('halves', 'h-1', 50);
      await notify('halves', 'h-2', 50);
      await notify('halves', 'h-2', 50);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['halves PAID 50', 'h-2 PAID 50']]);
      expect(await rowsOf('halves', 'h-2')).toEqual(['halves amount-mismatch 50 completed']);
    });

    it('pays the order if the deadline finds it, in a batch too', async () => {
      const ids = [await ordered('found-a'), await ordered('found-b')];
      for (const [index, reference] of ['found-a', 'found-b'].entries()) {
        finds(reference, `${reference}-2`, 50);
        await expire(ids[index] ?? '');
      }
      const asked = await shop.dataSource.transaction((tx) =>
        shop.closing.handleBatch(
          ids.map((id) => dueOf(id)),
          tx,
        ),
      );
      expect(asked).toEqual([{ type: 'look-up' }, { type: 'look-up' }]);
      const { signal } = new AbortController();
      const due = await Promise.all(
        ids.map(async (id) => ({ ...dueOf(id), answer: await shop.closing.lookUp(dueOf(id), signal) })),
      );
      // The first half is notified while the provider is asked.
      await notify('found-a', 'found-a-1', 50);
      await notify('found-b', 'found-b-1', 50);
      await shop.dataSource.transaction((tx) => shop.closing.handleBatch(due, tx));
      for (const [index, reference] of ['found-a', 'found-b'].entries()) {
        expect(await statusOf(ids[index] ?? '')).toBe('PAID');
        expect(await attemptsOf(ids[index] ?? '')).toEqual([`${reference} PAID 50`, `${reference}-2 PAID 50`]);
      }
      shop.provider.calls.length = 0;
      for (const id of ids) await settleUntilDone(shop, [id]);
      expect(shop.provider.calls).toEqual([]);
    });

    it('that the deadline finds for two orders pays one of them', async () => {
      const ids = [await ordered('both-a'), await ordered('both-b')];
      for (const reference of ['both-a', 'both-b']) finds(reference, 'both-2', 50);
      for (const id of ids) await expire(id);
      await shop.dataSource.transaction((tx) =>
        shop.closing.handleBatch(
          ids.map((id) => dueOf(id)),
          tx,
        ),
      );
      const { signal } = new AbortController();
      const due = await Promise.all(
        ids.map(async (id) => ({ ...dueOf(id), answer: await shop.closing.lookUp(dueOf(id), signal) })),
      );
      await notify('both-a', 'both-a-1', 50);
      await notify('both-b', 'both-b-1', 50);
      await shop.dataSource.transaction((tx) => shop.closing.handleBatch(due, tx));
      expect([await statusOf(ids[0] ?? ''), await attemptsOf(ids[1] ?? '')]).toEqual(['PAID', ['both-b PAID 50']]);
      expect(await rowsOf('both-2')).toEqual(['both-2 attempt-mismatch 50 kept']);
    });

    it('keeps an order from closing that both do not pay', async () => {
      const id = await ordered('parts');
      await notify('parts', 'q-1', 30);
      await notify('parts', 'q-2', 40);
      await expire(id);
      expect(await settleUntilDone(shop, [id])).toMatchObject([{ type: 'park' }]);
      expect(await refundsOf(id)).toEqual([]);
      expect(await rowsOf('parts', 'q-2')).toEqual(['parts amount-mismatch 30 kept', 'q-2 amount-mismatch 40 kept']);
      await notify('parts', 'q-3', 30);
      expect(await statusOf(id)).toBe('PAID');
    });

    it('is kept if the first was refunded', async () => {
      const id = await ordered('refunded', { merchantId: 'refunder' });
      await close(id);
      await notify('refunded', 'r-1', 100);
      expect(await refundsOf(id)).toEqual(['refunded 100']);
      await notify('refunded', 'r-2', 100);
      expect([await rowsOf('r-2'), await refundsOf(id)]).toEqual([['r-2 late 100 kept'], ['refunded 100']]);
    });

    it('that goes back leaves the row of one without a valid amount to a person', async () => {
      const id = await ordered('odd-first');
      await notify('odd-first', 'mx-1', -5);
      await notify('odd-first', 'mx-2', 50);
      expect(await refund(id, 'odd-first')).toMatchObject({ outcome: 'refunding' });
      expect([await refundsOf(id), await rowsOf('odd-first')]).toEqual([
        ['odd-first 50'],
        ['odd-first invalid-amount 0 kept', 'odd-first amount-mismatch 50 refunding'],
      ]);
    });

    it('pays the order if a person has settled the first, who is asked which of them it was', async () => {
      const id = await ordered('settled', { merchantId: 'refunder' });
      await notify('settled', 'x-1', 30);
      await settleRow('settled');
      await notify('settled', 'x-2', 100);
      expect(await attemptsOf(id)).toEqual(['settled SETTLED 30', 'x-2 PAID 100']);
      expect([await statusOf(id), await rowsOf('x-2')]).toEqual(['PAID', ['x-2 attempt-mismatch 100 kept']]);
    });

    it('is not hidden by a report that a person has settled and that called the reference a transaction', async () => {
      const id = await ordered('called');
      await report(id, 'made-up', 30, 'called');
      await settleRow('made-up');
      await notify('called', 'called-1', 30);
      await notify('called', 'called-2', 30);
      expect((await attemptsOf(id)).sort()).toEqual(['called SETTLED 30', 'called-2 PAID 30', 'made-up SETTLED 30']);
    });

    it('is late if the order was canceled, and a person refunds it by its own id', async () => {
      const id = await ordered('canceled');
      expect(await shop.cancel.execute({ orderId: id })).toMatchObject({ outcome: 'cancelling' });
      await settleUntilDone(shop, [id]);
      await notify('canceled', 'c-1', 100);
      await notify('canceled', 'c-2', 100);
      expect(await rowsOf('canceled', 'c-2')).toEqual(['canceled late 100 refunding', 'c-2 late 100 kept']);
      expect(await refund(id, 'c-2')).toMatchObject({ outcome: 'refunding' });
      expect((await refundsOf(id)).sort()).toEqual(['c-2 100', 'canceled 100']);
      expect(await rowsOf('c-2')).toEqual(['c-2 late 100 refunding']);
    });

    it('is what a report of its id means, whatever the report says of a first one', async () => {
      const id = await ordered('told');
      await notify('told', 'o-1', 50);
      expect(await report(id, 'told', 50, 'of-the-shop')).toMatchObject({ outcome: 'amount-mismatch' });
      expect(await attemptsOf(id)).toEqual(['told PAID 50']);
      await notify('told', 'o-2', 70);
      expect(await report(id, 'told', 70, 'o-2')).toMatchObject({ outcome: 'already-paid' });
      expect(await rowsOf('told', 'o-2')).not.toContain('told attempt-mismatch 70 kept');
      await report(id, 'told', 60, 'of-the-shop');
      expect(await attemptsOf(id)).toEqual(['told PAID 50', 'o-2 PAID 70']);
      expect(await rowsOf('told')).toContain('told attempt-mismatch 60 kept');
    });

    it('replaces the first if only a report has told of that', async () => {
      const id = await ordered('reported');
      await report(id, 'reported', 50, 'of-the-shop-too');
      await notify('reported', 'e-1', 100);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['reported PAID 100']]);
    });

    it('can be a third one', async () => {
      const id = await ordered('three');
      await notify('three', 't-1', 40);
      await notify('three', 't-2', 40);
      await notify('three', 't-3', 20);
      await notify('three', 't-4', 20);
      expect(await statusOf(id)).toBe('PAID');
      expect(await attemptsOf(id)).toEqual(['three PAID 40', 't-2 PAID 40', 't-3 PAID 20', 't-4 PAID 20']);
      expect(await rowsOf('t-2', 't-3', 't-4')).toContain('t-4 surplus 20 kept');
    });

    it('is taken from an attempt that a report has confused with it', async () => {
      const id = await ordered('mixed');
      await shop.register.execute({ orderId: id, ...attempt('mixed-other') });
      await report(id, 'mixed-other', 50, 'm-2');
      await notify('mixed', 'm-1', 50);
      await notify('mixed', 'm-2', 50);
      expect((await attemptsOf(id)).sort()).toEqual(['m-2 PAID 50', 'mixed PAID 50', 'mixed-other CLOSED']);
    });
  });

  it('is not what another name of the first one says: the part has one row, which its refund closes', async () => {
    const id = await ordered('cs-part');
    await notify('cs-part', 'pi-part', 50);
    await report(id, 'pi-part', 50);
    expect(await rowsOf('cs-part', 'pi-part')).toEqual(['cs-part amount-mismatch 50 waiting']);
    await refund(id, 'cs-part');
    expect(await rowsOf('cs-part', 'pi-part')).toEqual(['cs-part amount-mismatch 50 refunding']);
  });

  describe('is remembered after its order was', () => {
    const clear = async (id: string): Promise<void> => {
      await shop.dataSource.query(`DELETE FROM ${SCHEMA}.timeout WHERE key = $1`, [id]);
      await shop.dataSource.query(`DELETE FROM ${SCHEMA}.outbox`);
    };
    const erase = async (orderId: string): Promise<void> => {
      await clear(orderId);
      const erasing = shop.services.get(ErasePersonalData);
      expect(await erasing.execute({ orderId, reason: 'request 4711' })).toMatchObject({ outcome: 'erased' });
    };
    const purge = async (orderId: string): Promise<void> => {
      await clear(orderId);
      await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET updated_at = now() - interval '90 days' WHERE id = $1`, [
        orderId,
      ]);
      const purging = purgeOf(shop, { finishedOrdersMs: 30 * DAY_MS, idempotencyKeysMs: 0 });
      expect(await purging.runOnce()).toMatchObject({ orders: 1 });
    };

    it.each([
      ['erased', erase],
      ['purged', purge],
    ])('%s', async (what, forget) => {
      const id = await ordered(what);
      await notify(what, `${what}-1`, 50);
      await notify(what, `${what}-2`, 50);
      expect(await statusOf(id)).toBe('PAID');
      await forget(id);
      await notify(what, `${what}-2`, 50);
      await notify(what, `${what}-1`, 50);
      expect(await rowsOf(what, `${what}-1`, `${what}-2`)).not.toContain(expect.stringContaining('unknown-order'));
      await notify(what, `${what}-3`, 50);
      expect(await rowsOf(what, `${what}-3`)).toContain(`${what} unknown-order 50 kept`);
    });
  });

  describe('has nothing to do with another amount of the same payment', () => {
    it('which the open row takes over, with an event: the word of the provider', async () => {
      await notify('restated', 'a-1', 100);
      await notify('restated', 'a-1', 120);
      await notify('restated', 'a-1', 120);
      expect(await rowsOf('restated', 'a-1')).toEqual(['restated unknown-order 120 kept']);
      expect(await eventsAbout('restated')).toEqual(['restated unknown-order 100', 'restated unknown-order 120']);
    });

    it('which the open row takes over, with an event: a report', async () => {
      await report('not-placed', 'reworded', 100);
      await report('not-placed', 'reworded', 80);
      expect(await rowsOf('reworded')).toEqual(['reworded unknown-order 80 kept']);
      expect(await eventsAbout('reworded')).toEqual(['reworded unknown-order 100', 'reworded unknown-order 80']);
    });

    it('which a report never replaces if the provider has stated it', async () => {
      await notify('stated', 'd-1', 100);
      await report('not-placed', 'stated', 80);
      expect(await rowsOf('stated')).toEqual(['stated unknown-order 100 kept']);
    });

    it('which is disputed if an order has it', async () => {
      const id = await ordered('disputed');
      await notify('disputed', 'k-1', 100);
      await notify('disputed', 'k-2', 40);
      await notify('disputed', 'k-2', 60);
      await notify('disputed', 'k-2', 70);
      expect(await attemptsOf(id)).toEqual(['disputed PAID 100', 'k-2 PAID 40']);
      expect(await rowsOf('disputed', 'k-2')).toEqual(['k-2 surplus 40 kept', 'k-2 attempt-mismatch 70 kept']);
      expect(await eventsAbout('k-2')).toEqual([
        'k-2 surplus 40',
        'k-2 attempt-mismatch 60',
        'k-2 attempt-mismatch 70',
      ]);
    });
  });
});

import { type UnmatchedPayment } from '../../../src/orders/unmatched/unmatched-payment';
import { HandleNotification } from '../../../src/orders/pay/handle-notification';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { type Notification, type NotificationReader } from '../../../src/payments';
import { type FakeProvider } from './fake-provider';
import { paymentSteps } from './payment-steps';
import { eraseOrder } from './forget-order';
import { until } from '../../support/until';
import { fill, newOrder, openShop, reconcile, SCHEMA, settleUntilDone, type Shop } from './shop';

type Changeable = FakeProvider & { defaultAccount?: string; notifications?: NotificationReader };

describe('a payment whose merchant account was not known when its attempt was registered', () => {
  let shop: Shop;
  let told: Notification;
  let take: () => Promise<string | undefined>;

  beforeAll(async () => {
    shop = await openShop({
      reminderOffsetsMs: [],
      merchants: { refunder: { latePayment: 'refund' }, keeper: { latePayment: 'keep' } },
    });
    await fill(shop, { apple: 1_000 });
    const provider = shop.provider as Changeable;
    provider.notifications = {
      read: async () => told,
      reply: (verdict) => ({ status: 200, body: verdict }),
    };
    const notifications = shop.services.get(HandleNotification);
    take = async () => (await notifications.execute('fake', { headers: {}, rawBody: Buffer.alloc(0) }))?.body;
  });
  afterEach(() => knowDefault(undefined));
  afterAll(() => shop.database.drop());

  const { attempt, placed, report, expire, statusOf } = paymentSteps(() => shop);
  /** An instance without the provider, or with an adapter that has no accounts yet, knows none. */
  const knowDefault = (account: string | undefined): void => {
    const provider = shop.provider as Changeable;
    if (account === undefined) delete provider.defaultAccount;
    else provider.defaultAccount = account;
  };
  const notify = (
    reference: string,
    transactionId: string,
    merchantAccount: string | null = 'main',
    amount = 1_999n,
  ) => {
    const money = { amount, currency: 'EUR', paidAt: new Date('2026-01-01T00:00:00Z'), transactionId };
    const account = merchantAccount === null ? {} : { merchantAccount };
    told = { type: 'PAID', reference, ...account, ...money, evidence: {} };
    return take();
  };
  const register = (orderId: string, reference: string, merchantAccount?: string) =>
    shop.register.execute({ orderId, ...attempt(reference), merchantAccount });
  /** The previous release, which runs beside this one, takes the account for a part of the key. */
  const registerAsBefore = (orderId: string, reference: string, account: string): Promise<unknown> =>
    shop.dataSource.query(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, merchant_account, status, amount, currency)
       VALUES ('fake', $2, $1, $3, 'OPEN', 1999, 'EUR')`,
      [orderId, reference, account],
    );
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map((one) => `${one.merchantAccount ?? '-'} ${one.status}`);
  const textsOf = async (sql: string, values: readonly unknown[]): Promise<string[]> =>
    (await shop.dataSource.query<{ text: string }[]>(sql, [...values])).map(({ text }) => text);
  const isBlocked = async (): Promise<boolean> =>
    (
      await textsOf(
        `SELECT query AS text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        [],
      )
    ).length > 0;
  const refundsOf = (id: string) => textsOf(`SELECT reference AS text FROM ${SCHEMA}.refund WHERE order_id = $1`, [id]);
  const openOf = (reference: string) =>
    textsOf(
      `SELECT reason || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment
        WHERE reference = $1 AND handling IN ('kept', 'waiting') ORDER BY id`,
      [reference],
    );

  it('is the payment of that attempt if the attempt is registered again with the account', async () => {
    const id = await placed({ attempt: attempt('again') });
    knowDefault('main');
    expect(await register(id, 'again')).toMatchObject({ outcome: 'replayed' });
    expect(await register(id, 'again', 'main')).toMatchObject({ outcome: 'replayed' });
    expect(await attemptsOf(id)).toEqual(['main OPEN']);
    shop.provider.paid('again');
    await expire(id);
    await settleUntilDone(shop, [id]);
    expect([await statusOf(id), await attemptsOf(id), await refundsOf(id)]).toEqual(['PAID', ['main PAID'], []]);
  });

  it('belongs to the account that a registration names, although the provider has another default', async () => {
    const id = await placed({ attempt: attempt('named') });
    knowDefault('main');
    expect(await register(id, 'named', 'other')).toMatchObject({ outcome: 'replayed' });
    expect(await notify('named', 't-named', 'other')).toBe('accepted');
    expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['other PAID']]);
  });

  it('opens a stored attempt that was not handed over without the account', async () => {
    const id = await placed({ attempt: { ...attempt('created'), handedOver: false } });
    expect(await register(id, 'created', 'main')).toMatchObject({ outcome: 'replayed' });
    expect(await attemptsOf(id)).toEqual(['main OPEN']);
  });

  it('is counted once if the previous release has registered it twice', async () => {
    const id = await placed({ attempt: attempt('twice') });
    await registerAsBefore(id, 'twice', 'main');
    knowDefault('main');
    shop.provider.paid('twice');
    await expire(id);
    await settleUntilDone(shop, [id]);
    await reconcile(shop, id);
    expect([await statusOf(id), await refundsOf(id)]).toEqual(['PAID', []]);
    expect((await attemptsOf(id))?.map((text) => text.split(' ')[1]).sort()).toEqual(['DUPLICATE', 'PAID']);
  });

  it('closes both attempts that the previous release has registered, if nobody pays', async () => {
    const id = await placed({ attempt: attempt('twice-open') });
    await registerAsBefore(id, 'twice-open', 'main');
    knowDefault('main');
    await expire(id);
    await settleUntilDone(shop, [id]);
    expect(await statusOf(id)).toBe('CLOSED');
  });

  it('cannot be registered for a second order', async () => {
    const [first, second] = [await placed({ attempt: attempt('other-order') }), await placed()];
    expect(await register(second, 'other-order', 'main')).toMatchObject({ code: 'ATTEMPT_EXISTS' });
    knowDefault('main');
    expect(await register(second, 'other-order')).toMatchObject({ code: 'ATTEMPT_EXISTS' });
    const third = newOrder({ attempt: attempt('other-order') });
    expect(await shop.place.execute([third])).toMatchObject([{ outcome: 'rejected', code: 'ATTEMPT_EXISTS' }]);
    await placed({ attempt: { ...attempt('with-account'), merchantAccount: 'main' } });
    knowDefault(undefined);
    expect(await register(second, 'with-account')).toMatchObject({ code: 'ATTEMPT_EXISTS' });
    expect(await attemptsOf(first)).toEqual(['- OPEN']);
  });

  describe.each([
    ['none, then an account', undefined, 'main'],
    ['an account, then none', 'main', undefined],
    ['none, twice', undefined, undefined],
  ])('that two orders register at the same moment (%s)', (what, first, second) => {
    const place = async (reference: string, merchantAccount?: string) =>
      (await shop.place.execute([newOrder({ attempt: { ...attempt(reference), merchantAccount } })]))[0];

    it.each([
      ['later', register],
      ['as it is placed', async (_id: string, reference: string, account?: string) => place(reference, account)],
    ])('belongs to the first of them: the second registers it %s', async (how, registerSecond) => {
      const [reference, one, other] = [`moment-${what}-${how}`, await placed(), await placed()];
      const registered = { orderId: one, ...attempt(reference), merchantAccount: first };
      let rival: Promise<unknown> = Promise.resolve();
      await shop.dataSource.transaction(async (tx) => {
        expect(await shop.register.execute(registered, { tx })).toMatchObject({ outcome: 'registered' });
        let hasEnded = false;
        rival = registerSecond(other, reference, second).finally(() => (hasEnded = true));
        await until(async () => hasEnded || (await isBlocked()));
      });
      expect(await rival).toMatchObject({ outcome: 'rejected', code: 'ATTEMPT_EXISTS' });
    });
  });

  it('pays at most one of two orders for which the previous release has registered it', async () => {
    const [first, second] = [await placed({ attempt: attempt('shared') }), await placed()];
    await registerAsBefore(second, 'shared', 'main');
    knowDefault('main');
    shop.provider.paid('shared');
    for (const id of [first, second]) await expire(id);
    await settleUntilDone(shop, [first, second], 3);
    const statuses = [await statusOf(first), await statusOf(second)];
    expect(statuses.filter((status) => status === 'PAID').length).toBeLessThan(2);
    expect([...(await refundsOf(first)), ...(await refundsOf(second))]).toEqual([]);
    expect(await openOf('shared')).toContain('attempt-mismatch kept');
  });

  it('is one payment by its transaction id, whichever account is known', async () => {
    const id = await placed({ attempt: attempt('pi_acc') });
    await report(id, 'pi_acc', 1_999, 'ch_acc');
    knowDefault('main');
    await register(id, 'cs_acc');
    await notify('cs_acc', 'pi_acc');
    shop.provider.answerQuery('pi_acc', { type: 'OPEN' });
    await reconcile(shop, id);
    expect([await statusOf(id), await refundsOf(id)]).toEqual(['PAID', []]);
  });

  it('cannot pay a second order by its transaction id', async () => {
    const [first, second] = [await placed({ attempt: attempt('pi_two') }), await placed()];
    await report(first, 'pi_two', 1_999, 'ch_two');
    knowDefault('main');
    expect(await report(second, 'anything', 1_999, 'ch_two')).toMatchObject({ outcome: 'attempt-mismatch' });
  });

  it('gets its account from the notification, and keeps it when the default changes', async () => {
    const id = await placed({ ...HALF, attempt: attempt('learned') });
    knowDefault('main');
    await notify('learned', 't-learned', 'main', 2_000n);
    knowDefault('next');
    await notify('learned', 't-learned', 'main', 2_000n);
    expect(await attemptsOf(id)).toEqual(['main PAID']);
    expect(await openOf('learned')).toEqual(['amount-mismatch waiting']);
  });

  it('stays where it is if it was paid to another account than the default', async () => {
    const id = await placed({ attempt: attempt('elsewhere') });
    knowDefault('main');
    await notify('elsewhere', 't-elsewhere', 'other');
    await expire(id);
    await settleUntilDone(shop, [id]);
    expect([await statusOf(id), await openOf('elsewhere')]).toEqual(['CLOSED', ['unknown-order kept']]);
  });

  it('is one unmatched payment if a report without the account and a notification with it came before the order', async () => {
    const { id } = newOrder();
    await report(id, 'early-acc', 1_999, 't-early-acc');
    knowDefault('main');
    await notify('early-acc', 't-early-acc');
    expect(await openOf('early-acc')).toEqual(['unknown-order kept']);
    await shop.place.execute([newOrder({ id, attempt: attempt('early-acc') })]);
    await settleUntilDone(shop, [id]);
    expect([await statusOf(id), await refundsOf(id), await openOf('early-acc')]).toEqual(['PAID', [], []]);
  });

  it('is one unmatched payment in the other order, too, and an attempt without the account finds it', async () => {
    const { id } = newOrder();
    knowDefault('main');
    await notify('early-null', 't-early-null');
    knowDefault(undefined);
    await report(id, 'early-null', 1_999, 't-early-null');
    expect(await openOf('early-null')).toEqual(['unknown-order kept']);
    await shop.place.execute([newOrder({ id, paymentWindowMs: 3_600_000 })]);
    expect(await register(id, 'early-null')).toMatchObject({ outcome: 'registered' });
    knowDefault('main');
    await settleUntilDone(shop, [id]);
    expect([await statusOf(id), await refundsOf(id), await openOf('early-null')]).toEqual(['PAID', [], []]);
  });

  it('hides no payment to another account that came under the same reference', async () => {
    const id = newOrder().id;
    expect(await report(id, 'two')).toMatchObject({ outcome: 'unknown-order' });
    await placed({ id });
    await settleUntilDone(shop, [id]);
    expect(await notify('two', 't-two', 'main')).toBe('accepted');
    expect([await statusOf(id), await attemptsOf(id), await openOf('two')]).toEqual(['PAID', ['main PAID'], []]);
    expect(await notify('two', 't-other', 'shop-2')).toBe('accepted');
    expect(await openOf('two')).toEqual(['unknown-order kept']);
  });

  it('is stored although another order has a row at its account, and its own has one without', async () => {
    const id = newOrder().id;
    expect(await report(id, 'key', 500, 't-first')).toMatchObject({ outcome: 'unknown-order' });
    const told = {
      orderId: 'never-placed',
      ...attempt('key'),
      merchantAccount: 'main',
      amount: 1_499,
      currency: 'EUR',
    };
    expect(await shop.markPaid.execute(told)).toMatchObject({ outcome: 'unknown-order' });
    await placed({ id, attempt: { ...attempt('key'), merchantAccount: 'main' } });
    await register(id, 'first', 'main');
    expect(await notify('first', 't-first', 'main', 500n)).toBe('accepted');
    const isAtMain = (one: UnmatchedPayment): boolean => one.reference === 'key' && one.merchantAccount === 'main';
    const row = (await shop.unmatched.list()).find(isAtMain);
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire 4711' });
    expect(await notify('key', 't-key', 'main', 1_499n)).toBe('accepted');
    expect(await openOf('key')).toContain('unknown-order kept');
  });

  it('stays settled when a notification tells the account, until a person reopens it', async () => {
    expect(await report('nobody', 'told')).toMatchObject({ outcome: 'unknown-order' });
    const [row] = (await shop.unmatched.list()).filter(({ reference }) => reference === 'told');
    const settlement = { id: row?.id ?? '', reason: 'paid back by wire 4711' };
    await shop.settleUnmatched.execute(settlement);
    expect(await notify('told', 't-told')).toBe('accepted');
    const id = await placed({ attempt: { ...attempt('told'), merchantAccount: 'main' } });
    expect(await notify('told', 't-told')).toBe('accepted');
    expect([await attemptsOf(id), await openOf('told')]).toEqual([['main SETTLED'], ['unknown-order kept']]);
    expect(await shop.unmatched.reopen(settlement)).toMatchObject({ outcome: 'reopened' });
    await settleUntilDone(shop, [id]);
    expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['main PAID']]);
  });

  it('is not refunded automatically if the account shows that a person has settled it', async () => {
    const told = { orderId: 'nobody', ...attempt('shown'), merchantAccount: 'main', amount: 500, currency: 'EUR' };
    expect(await shop.markPaid.execute(told)).toMatchObject({ outcome: 'unknown-order' });
    const [row] = (await shop.unmatched.list()).filter(({ reference }) => reference === 'shown');
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire 4711' });
    const id = await placed({ attempt: attempt('shown') });
    for (const account of [null, 'main']) expect(await notify('shown', 't-1', account, 500n)).toBe('accepted');
    expect(await openOf('shown')).toContain('attempt-mismatch kept');
    expect(await notify('shown', 't-2')).toBe('accepted');
    expect([await statusOf(id), await refundsOf(id)]).toEqual(['PAID', []]);
    expect(await openOf('shown')).toContain('surplus kept');
  });

  it('is refunded under the number that it had before its account was known', async () => {
    const id = await placed({ merchantId: 'refunder', attempt: attempt('numbered') });
    await expire(id);
    await settleUntilDone(shop, [id]);
    knowDefault('main');
    await notify('numbered', 't-numbered');
    const numbers = await textsOf(`SELECT number AS text FROM ${SCHEMA}.refund WHERE order_id = $1`, [id]);
    expect(numbers).toEqual([refundNumber({ provider: 'fake', reference: 'numbered' })]);
  });

  /** An order without the account and one at another account have the same reference. Both close, and then are paid. */
  const paidLate = async (reference: string, ids: readonly [string, string]) => {
    const first = await placed({ merchantId: 'keeper', attempt: attempt(reference) });
    knowDefault('main');
    const second = await placed({
      merchantId: 'keeper',
      attempt: { ...attempt(reference), merchantAccount: 'other' },
    });
    for (const id of [first, second]) await expire(id);
    await settleUntilDone(shop, [first, second]);
    await notify(reference, ids[0], 'other');
    await notify(reference, ids[1], 'main');
    return [first, second] as const;
  };
  const rowsOf = (id: string) =>
    textsOf(
      `SELECT reference || ' ' || reason || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1`,
      [id],
    );

  it('is told although an order at another account has the same reference and transaction id', async () => {
    const orders = await paidLate('numbered-anew', ['1', '1']);
    for (const id of orders) expect(await rowsOf(id)).toEqual(['numbered-anew late kept']);
  });

  it('is settled, and not that of the order at another account which has the same reference', async () => {
    const [first, second] = await paidLate('both-late', ['t-other', 't-main']);
    expect(await rowsOf(first)).toEqual(['both-late late kept']);
    const [row] = (await shop.unmatched.list({ limit: 1_000 })).filter(({ orderId }) => orderId === first);
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire' });
    expect([await attemptsOf(first), await attemptsOf(second)]).toEqual([['main SETTLED'], ['other PAID']]);
  });

  describe('as a part of the price of which another part was paid to another account under the same reference', () => {
    const handlingsOf = (id: string) =>
      textsOf(
        `SELECT merchant_account || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY 1`,
        [id],
      );
    const settleAt = async (id: string, account: string | null) => {
      const rows = (await shop.unmatched.list({ limit: 1_000 })).filter(({ orderId }) => orderId === id);
      const row = rows.find(({ merchantAccount }) => merchantAccount === account);
      await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire' });
    };

    it('has a row of its own, which is settled with it and not refunded as well', async () => {
      const id = await placed();
      for (const account of [undefined, 'main', 'other']) await register(id, 'two-parts', account);
      await notify('two-parts', 't-parts-other', 'other', 400n);
      await notify('two-parts', 't-parts-main', 'main', 400n);
      expect(await handlingsOf(id)).toEqual([' waiting', 'other waiting']);
      await settleAt(id, null);
      expect(await attemptsOf(id)).toEqual(['main SETTLED', 'other PAID']);
      await expire(id);
      await settleUntilDone(shop, [id]);
      expect([await attemptsOf(id), await handlingsOf(id)]).toEqual([
        ['main SETTLED', 'other REFUNDING'],
        [' settled', 'other refunding'],
      ]);
    });

    it('is settled once more after its provider has confirmed it, and not the other part', async () => {
      const id = await placed();
      await register(id, 'once-more');
      await report(id, 'once-more', 400);
      await settleAt(id, null);
      await notify('once-more', 't-more-main', 'main', 400n);
      await register(id, 'once-more', 'other');
      await notify('once-more', 't-more-other', 'other', 400n);
      await settleAt(id, null);
      expect([await attemptsOf(id), await handlingsOf(id)]).toEqual([
        ['main SETTLED', 'other PAID'],
        [' settled', 'other waiting'],
      ]);
    });
  });

  it.each([
    ['the report knows its account', undefined, 'main'],
    ['the report does not', 'main', undefined],
    ['neither the registration nor the report does', 'main', undefined, true],
  ])('pays nothing by a report if a person has settled it, and %s', async (what, settled, reported, isOwn = false) => {
    const reference = `paid-back-${what}`;
    knowDefault(settled);
    await notify(reference, `t-${reference}`, settled ?? null);
    const [row] = (await shop.unmatched.list({ limit: 1_000 })).filter((one) => one.reference === reference);
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire' });
    knowDefault(reported);
    const id = await placed({ attempt: attempt(isOwn ? reference : `never-used-${what}`) });
    expect(await report(id, reference)).toMatchObject({ outcome: 'attempt-mismatch' });
    expect([await statusOf(id), await rowsOf(id)]).toEqual(['PENDING', [`${reference} attempt-mismatch kept`]]);
  });

  it('pays its order once the provider confirms it at another account, although a report was refused', async () => {
    await notify('same-name', 't-settled-one', null);
    const [row] = (await shop.unmatched.list({ limit: 1_000 })).filter((one) => one.reference === 'same-name');
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire' });
    knowDefault('main');
    const id = await placed({ attempt: attempt('same-name') });
    expect(await report(id, 'same-name')).toMatchObject({ outcome: 'attempt-mismatch' });
    await notify('same-name', 't-of-the-order');
    expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['main PAID']]);
  });

  it('is known to its erased order without the account, and pays no other order', async () => {
    const id = await placed({ attempt: attempt('forgotten') });
    await notify('forgotten', 't-forgotten');
    expect(await statusOf(id)).toBe('PAID');
    await eraseOrder({ shop }, id);
    expect(await report(id, 'forgotten')).toMatchObject({ outcome: 'already-paid' });
    expect(await rowsOf(id)).toEqual([]);
    for (const [reference, transactionId] of [['forgotten'], ['its-number', 't-forgotten']] as const) {
      const other = await placed({ attempt: attempt(`unlike-${reference}`) });
      expect(await report(other, reference, 1_999, transactionId)).toMatchObject({ outcome: 'attempt-mismatch' });
      expect([await statusOf(other), await rowsOf(other)]).toEqual(['PENDING', [`${reference} attempt-mismatch kept`]]);
    }
  });

  it('keeps its order from being closed or canceled if it waits under a name with the account, or without', async () => {
    for (const [given, registered] of [
      ['main', undefined],
      [null, 'main'],
    ] as const) {
      knowDefault(undefined);
      const reference = `waits-${given}`;
      await notify(reference, `t-${reference}`, given);
      await shop.dataSource.query(
        `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE reference = $1`,
        [reference],
      );
      knowDefault(registered);
      const orderId = await placed({ attempt: attempt(reference) });
      const refused = { code: 'ORDER_HAS_MONEY', payments: [{ provider: 'fake', reference }] };
      expect(await shop.close.execute({ orderId, reason: 'checked', attemptsAreClosed: true })).toMatchObject(refused);
      expect(await shop.cancel.execute({ orderId })).toMatchObject(refused);
    }
  });
});

const HALF = { amount: 4_000, lines: [{ sku: 'apple', quantity: 1, unitAmount: 4_000 }] };

import { eventsOf, fill, newOrder, openShop, reconcile, SCHEMA, settle, type Shop, timeoutsOf } from './shop';

const HOUR = 3_600_000;

describe('money that was reported before its order or its attempt existed', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [] });
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const attempt = (reference: string) => ({ provider: 'fake', reference });
  const statusOf = async (id: string) => (await shop.readOrder.execute(id))?.status;
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map(({ reference, status }) => `${reference} ${status}`);
  const pay = (orderId: string, reference: string, amount = 1_999, currency = 'EUR') =>
    shop.markPaid.execute({ orderId, ...attempt(reference), amount, currency }, { by: { cause: 'notify' } });
  const handlingOf = async (id: string) =>
    (
      await shop.dataSource.query<{ reason: string; handling: string }[]>(
        `SELECT reason, handling FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY id`,
        [id],
      )
    ).map(({ reason, handling }) => `${reason} ${handling}`);

  it('is adopted at the deadline', async () => {
    const { id } = newOrder();
    expect(await pay(id, 'early-bird')).toEqual({ outcome: 'unknown-order' });
    await shop.place.execute([newOrder({ id })]);
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await shop.readOrder.execute(id)).toMatchObject({
      status: 'PAID',
      attempts: [{ reference: 'early-bird', status: 'PAID', paidAmount: 1_999 }],
    });
    expect(await handlingOf(id)).toEqual(['unknown-order adopted']);
  });

  it('is adopted immediately when its attempt is registered later', async () => {
    const { id } = newOrder();
    await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
    await shop.dataSource.transaction((tx) =>
      shop.store.keepUnmatched(tx, [
        {
          ...attempt('posted-first'),
          reason: 'unknown-order',
          handling: 'kept',
          orderId: null,
          amount: 1_999n,
          currency: 'EUR',
          merchantAccount: null,
          transactionId: 't-1',
          source: 'provider',
          evidence: {},
          now: new Date(),
        },
      ]),
    );
    expect(await shop.register.execute({ orderId: id, ...attempt('posted-first') })).toMatchObject({
      outcome: 'registered',
    });
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await shop.readOrder.execute(id)).toMatchObject({
      status: 'PAID',
      attempts: [{ reference: 'posted-first', status: 'PAID', transactionId: 't-1' }],
    });
  });

  it('pays its order, which cannot be canceled then, and makes a second payment surplus', async () => {
    const [cancelled, twice] = [newOrder(), newOrder()];
    await pay(cancelled.id, 'early-cancelled');
    await pay(twice.id, 'early-first');
    await shop.place.execute([cancelled, twice].map(({ id }) => newOrder({ id, paymentWindowMs: HOUR })));
    expect(await shop.cancel.execute({ orderId: cancelled.id })).toMatchObject({ code: 'ORDER_HAS_MONEY' });
    await settle(shop, [cancelled.id]);
    expect(await attemptsOf(cancelled.id)).toEqual(['early-cancelled PAID']);
    expect(await statusOf(cancelled.id)).toBe('PAID');
    expect(await pay(twice.id, 'second-after')).toMatchObject({ order: { status: 'PAID' } });
    expect((await attemptsOf(twice.id))?.sort()).toEqual(['early-first PAID', 'second-after PAID']);
    // The provider shows neither yet. It may lag for ten minutes, and a person is not asked before.
    expect(await reconcile(shop, twice.id)).toMatchObject({ type: 'retry', counted: false });
    expect(await handlingOf(twice.id)).toEqual(['unknown-order adopted']);
    // Neither was registered, so a person must decide which one to refund.
    expect(await reconcile(shop, twice.id, 600_000)).toEqual({ type: 'done' });
    expect(await handlingOf(twice.id)).toEqual(['unknown-order adopted', 'surplus kept']);
  });

  it('stays in sight if a provider told it under another reference, of which an early report names only the id', async () => {
    const { id } = newOrder();
    const told = { ...attempt('told early'), reason: 'unknown-order', handling: 'kept', orderId: null } as const;
    const half = { amount: 1_000n, currency: 'EUR', merchantAccount: null, transactionId: 't-early', evidence: {} };
    await shop.dataSource.transaction((tx) =>
      shop.store.keepUnmatched(tx, [{ ...told, ...half, source: 'provider', now: new Date() }]),
    );
    const payment = { orderId: id, ...attempt('made up'), amount: 1_999, currency: 'EUR', transactionId: 't-early' };
    await shop.markPaid.execute(payment);
    await shop.place.execute([newOrder({ id })]);
    await settle(shop, [id]);
    const open = `SELECT FROM ${SCHEMA}.unmatched_payment WHERE reference = 'told early' AND handling = 'kept'`;
    expect([await attemptsOf(id), (await shop.dataSource.query<[]>(open)).length]).toEqual([['made up PAID'], 1]);
  });

  it('stays where it is if it was paid to another merchant', async () => {
    const { id } = newOrder();
    await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
    const money = { ...attempt('misdirected'), orderId: null, amount: 1_999n, currency: 'EUR', now: new Date() };
    const report = { ...money, reason: 'unknown-order' as const, handling: 'kept' as const };
    await shop.dataSource.transaction((tx) =>
      shop.store.keepUnmatched(tx, [
        { ...report, merchantAccount: 'merchant-b', transactionId: null, source: 'provider', evidence: {} },
      ]),
    );
    await shop.register.execute({ orderId: id, ...attempt('misdirected'), merchantAccount: 'merchant-a' });
    await settle(shop, [id]);
    expect(await shop.readOrder.execute(id)).toMatchObject({ status: 'PENDING', attempts: [{ status: 'OPEN' }] });
  });

  it('stays where it is if the attempt belongs to another order', async () => {
    const { id } = newOrder();
    await pay(id, 'disputed');
    const owner = newOrder({ paymentWindowMs: HOUR, attempt: attempt('disputed') });
    await shop.place.execute([newOrder({ id }), owner]);
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('CLOSED');
    expect(await handlingOf(id)).toEqual(['unknown-order kept']);
  });

  /** What a notification leaves that comes before its attempt: money that names no order. */
  const notifiedFirst = (reference: string, amount = 1_999n) =>
    shop.dataSource.transaction((tx) =>
      shop.store.keepUnmatched(tx, [
        {
          ...{ ...attempt(reference), reason: 'unknown-order', handling: 'kept', orderId: null, amount },
          ...{ currency: 'EUR', merchantAccount: null, transactionId: `t-${reference}`, source: 'provider' },
          ...{ evidence: {}, now: new Date() },
        },
      ]),
    );
  /** Settles the closing if it is due now, and not only at the deadline. */
  const settleWhatIsDue = async (id: string) => {
    const [timeout] = await timeoutsOf(shop, id);
    expect(timeout?.due_at.getTime()).toBeLessThanOrEqual(Date.now());
    return settle(shop, [id]);
  };

  describe.each([
    ['closes at its deadline', true],
    ['is never closed automatically', false],
  ])('pays an order that %s', (_name, autoClose) => {
    const place = (id: string, reference?: string) =>
      shop.place.execute([
        newOrder({ id, paymentWindowMs: HOUR, autoClose, ...(reference ? { attempt: attempt(reference) } : {}) }),
      ]);

    it('as soon as it is placed, if the payment was reported before', async () => {
      const { id } = newOrder();
      await pay(id, `reported-first-${autoClose}`);
      await place(id);
      expect(await settleWhatIsDue(id)).toEqual([{ type: 'done' }]);
      expect(await statusOf(id)).toBe('PAID');
    });

    it('as soon as it is placed with the attempt that a notification named before', async () => {
      const { id } = newOrder();
      await notifiedFirst(`notified-first-${autoClose}`);
      await place(id, `notified-first-${autoClose}`);
      expect(await settleWhatIsDue(id)).toEqual([{ type: 'done' }]);
      expect(await statusOf(id)).toBe('PAID');
    });
  });

  it('is left to a person if it is too little for an order that no deadline decides about', async () => {
    const { id } = newOrder();
    await shop.place.execute([newOrder({ id, autoClose: false })]);
    await notifiedFirst('part-before-attempt', 400n);
    await shop.register.execute({ orderId: id, ...attempt('part-before-attempt') });
    expect(await settleWhatIsDue(id)).toEqual([{ type: 'done' }]);
    expect(await attemptsOf(id)).toEqual(['part-before-attempt PAID']);
    expect(await handlingOf(id)).toEqual(['amount-mismatch kept']);
    const [told, ...others] = (await eventsOf(shop, id)).filter(
      ({ routing_key: type }) => type === 'order.payment_late',
    );
    expect(told?.body).toMatchObject({ reason: 'amount-mismatch', handling: 'kept', amount: 400 });
    expect(others).toEqual([]);
  });

  it('is announced immediately, and waits for the rest, if it is too little for an order with a deadline', async () => {
    const { id } = newOrder();
    await notifiedFirst('part-before-order', 400n);
    await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR, attempt: attempt('part-before-order') })]);
    expect(await settleWhatIsDue(id)).toMatchObject([{ type: 'reschedule' }]);
    expect(await handlingOf(id)).toEqual(['amount-mismatch waiting']);
    await pay(id, 'the-rest', 1_599);
    expect(await statusOf(id)).toBe('PAID');
    expect(await handlingOf(id)).toEqual(['amount-mismatch completed']);
  });

  it('is found in spite of a notification that is stored while its attempt is being registered', async () => {
    const { id } = newOrder();
    await shop.place.execute([newOrder({ id, autoClose: false })]);
    const crossing = await shop.dataSource.transaction(async (tx) => {
      await shop.register.execute({ orderId: id, ...attempt('crossing') }, { tx });
      return [notifiedFirst('crossing')];
    });
    await Promise.all(crossing);
    expect(await timeoutsOf(shop, id)).toHaveLength(1);
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('PAID');
  });

  it('is found in spite of a report that is stored while its order is being placed', async () => {
    const { id } = newOrder();
    await shop.dataSource.transaction(async (tx) => {
      await shop.place.execute([newOrder({ id, autoClose: false })], { tx });
      expect(await pay(id, 'crossing-report')).toEqual({ outcome: 'unknown-order' });
    });
    expect(await timeoutsOf(shop, id)).toHaveLength(1);
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('PAID');
  });

  describe('money that no order had for a while', () => {
    /** Money of an attempt that nobody has registered, told of so many minutes ago. */
    const waitedFor = async (reference: string, minutes: number) => {
      await notifiedFirst(reference);
      const sql = `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - make_interval(mins => $2) WHERE reference = $1`;
      await shop.dataSource.query(sql, [reference, minutes]);
    };
    const place = (reference?: string) => {
      const more = reference === undefined ? {} : { attempt: attempt(reference) };
      const order = newOrder({ paymentWindowMs: HOUR, ...more });
      return shop.place.execute([order]).then(() => order.id);
    };
    const rowsOf = async (reference: string) =>
      (
        await shop.dataSource.query<{ text: string }[]>(
          `SELECT reason || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE reference = $1 ORDER BY id`,
          [reference],
        )
      ).map(({ text }) => text);
    const confirm = (orderId: string, reference: string) =>
      shop.markPaid.confirm(
        { orderId, ...attempt(reference), amount: 1_999, currency: 'EUR', transactionId: `t-${reference}` },
        { cause: 'notify' },
        { account: null },
      );

    it('pays an order that is placed with its attempt within a quarter of an hour', async () => {
      await waitedFor('waited-14', 14);
      const id = await place('waited-14');
      await settleWhatIsDue(id);
      expect([await statusOf(id), await rowsOf('waited-14')]).toEqual(['PAID', ['unknown-order adopted']]);
    });

    it('is not adopted by an order that registers its attempt later', async () => {
      await waitedFor('waited-16', 16);
      const id = await place('waited-16');
      await settleWhatIsDue(id);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PENDING', ['waited-16 OPEN']]);
      expect(await rowsOf('waited-16')).toEqual(['unknown-order kept']);
    });

    it('is left to a person when the notification is repeated, or a look-up finds it', async () => {
      await waitedFor('waited-found', 16);
      const id = await place('waited-found');
      expect(await confirm(id, 'waited-found')).toMatchObject({ outcome: 'attempt-mismatch' });
      const money = { amount: 1_999n, currency: 'EUR', paidAt: new Date(), evidence: {} } as const;
      shop.provider.answerQuery('waited-found', { type: 'PAID', transactionId: 't-waited-found', ...money });
      expect(await reconcile(shop, id)).toMatchObject({ type: 'retry' });
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PENDING', ['waited-found OPEN']]);
      expect(await rowsOf('waited-found')).toEqual(['unknown-order kept', 'attempt-mismatch kept']);
      expect(await eventsOf(shop, id)).toContainEqual(
        expect.objectContaining({ body: expect.objectContaining({ reason: 'attempt-mismatch' }) as unknown }),
      );
    });

    it('pays the order that a person assigns it to, and leaves no row open', async () => {
      await waitedFor('waited-assigned', 16);
      const id = await place('waited-assigned');
      await confirm(id, 'waited-assigned');
      const [row] = (await shop.unmatched.list({ limit: 1_000 })).filter(
        ({ reference, reason }) => reference === 'waited-assigned' && reason === 'unknown-order',
      );
      const assignment = { id: row?.id ?? '', orderId: id, reason: 'seen in the account' };
      const options = { by: { cause: 'api', actor: 'anna' } } as const;
      expect(await shop.assign.execute(assignment, options)).toMatchObject({ outcome: 'assigned', booked: 'paid' });
      expect(await rowsOf('waited-assigned')).toEqual(['unknown-order adopted', 'attempt-mismatch adopted']);
    });

    describe('that a person assigns to another order than the one that registered its reference', () => {
      const wrongly = async (reference: string) => {
        await waitedFor(reference, 16);
        const wrong = await place(reference);
        await confirm(wrong, reference);
        const [first, second] = (await shop.unmatched.list({ limit: 1_000 })).filter(
          (row) => row.reference === reference,
        );
        return { wrong, right: await place(), rows: [first?.id ?? '', second?.id ?? ''] as const };
      };
      const assignTo = (orderId: string, id: string) =>
        shop.assign.execute({ id, orderId, reason: 'the receipt names it' }, { by: { actor: 'anna' } });

      it.each([
        ['unknown-order', 0],
        ['attempt-mismatch', 1],
      ] as const)('pays that one, by its row %s, and lets the wrong order close', async (reason, index) => {
        const reference = `wrongly-${reason}`;
        const { wrong, right, rows } = await wrongly(reference);
        expect(await assignTo(right, rows[index])).toMatchObject({ outcome: 'assigned', booked: 'paid' });
        expect([await statusOf(right), await attemptsOf(right)]).toEqual(['PAID', [`${reference} PAID`]]);
        expect([await attemptsOf(wrong), await rowsOf(reference)]).toEqual([
          [],
          ['unknown-order adopted', 'attempt-mismatch adopted'],
        ]);
        expect((await shop.history.execute(wrong)).at(-1)).toMatchObject({
          actor: 'anna',
          reason: 'the receipt names it',
          evidence: { lost: [attempt(reference)], to: right },
        });
        await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() WHERE id = $1`, [wrong]);
        expect(await settleWhatIsDue(wrong)).toEqual([{ type: 'done' }]);
        expect(await statusOf(wrong)).toBe('CLOSED');
        expect(await confirm(wrong, reference)).toMatchObject({ outcome: 'attempt-mismatch' });
        expect(await assignTo(wrong, rows[0])).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
      });

      it('stays with the order that booked it meanwhile', async () => {
        const { wrong, right, rows } = await wrongly('wrongly-booked');
        await assignTo(wrong, rows[0]);
        expect(await assignTo(right, rows[1])).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
        expect([await statusOf(wrong), await statusOf(right)]).toEqual(['PAID', 'PENDING']);
      });

      it('does not leave its order by a mere report', async () => {
        const wrong = await place('only-reported');
        const right = await place();
        await pay(right, 'only-reported');
        const [row] = (await shop.unmatched.list({ limit: 1_000 })).filter((one) => one.reference === 'only-reported');
        expect(await assignTo(right, row?.id ?? '')).toMatchObject({ code: 'PAYMENT_TAKEN' });
        expect(await attemptsOf(wrong)).toEqual(['only-reported OPEN']);
      });
    });

    it('does not pay an order by a mere report, either', async () => {
      await waitedFor('waited-reported', 16);
      const id = await place();
      expect(await pay(id, 'waited-reported')).toMatchObject({ outcome: 'attempt-mismatch' });
      expect(await statusOf(id)).toBe('PENDING');
    });

    it('pays the order that a report names in time, with the word of the provider, and leaves no row open', async () => {
      const id = await place();
      await notifiedFirst('reported-after');
      expect(await pay(id, 'reported-after')).toMatchObject({ outcome: 'paid' });
      expect(await shop.readOrder.execute(id)).toMatchObject({ attempts: [{ transactionId: 't-reported-after' }] });
      expect(await rowsOf('reported-after')).toEqual(['unknown-order adopted']);
    });

    it('pays the order whose report has the own id of the provider, and leaves no row open', async () => {
      const id = await place();
      await notifiedFirst('own-id');
      expect(await pay(id, 't-own-id')).toMatchObject({ outcome: 'paid' });
      expect(await rowsOf('own-id')).toEqual(['unknown-order adopted']);
    });

    it('stays where it is if a report only names it as the transaction of an own attempt', async () => {
      const id = await place('own-of-liar');
      await notifiedFirst('of-somebody');
      const money = { orderId: id, ...attempt('own-of-liar'), amount: 1_999, currency: 'EUR' };
      await shop.markPaid.execute({ ...money, transactionId: 'of-somebody' });
      expect(await rowsOf('of-somebody')).toEqual(['unknown-order kept']);
    });

    it('stays where it is if a second report then names it by its reference', async () => {
      const id = await place('own-of-liar-2');
      await notifiedFirst('of-somebody-2');
      const money = { orderId: id, ...attempt('own-of-liar-2'), amount: 1_999, currency: 'EUR' };
      await shop.markPaid.execute({ ...money, transactionId: 'of-somebody-2' });
      expect(await pay(id, 'of-somebody-2')).toMatchObject({ outcome: 'already-paid' });
      expect(await rowsOf('of-somebody-2')).toEqual(['unknown-order kept']);
    });

    it('is not adopted by an order if its report named another one, which was never placed', async () => {
      await pay('never-placed', 'named-elsewhere');
      const id = await place('named-elsewhere');
      await settleWhatIsDue(id);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PENDING', ['named-elsewhere OPEN']]);
    });
  });

  describe('several payments under one reference', () => {
    /** What the provider tells of, in minutes before now. */
    const told = async (reference: string, transactionId: string, minutesAgo = 0): Promise<string> => {
      const money = { ...attempt(reference), transactionId, amount: 1_000n, currency: 'EUR', merchantAccount: null };
      const why = { reason: 'unknown-order', handling: 'kept', source: 'provider', orderId: null } as const;
      await shop.dataSource.transaction((tx) =>
        shop.store.keepUnmatched(tx, [{ ...money, ...why, evidence: {}, now: new Date() }]),
      );
      const [row] = await shop.dataSource
        .query<{ id: string }[]>(
          `UPDATE ${SCHEMA}.unmatched_payment p SET created_at = now() - $2 * interval '1 minute'
          WHERE evidence->>'transactionId' = $1 RETURNING id::text`,
          [transactionId, minutesAgo],
        )
        .then(([rows]) => rows as unknown as { id: string }[]);
      return row?.id ?? '';
    };
    const placedWith = async (reference: string): Promise<string> => {
      const order = newOrder({ paymentWindowMs: HOUR, attempt: attempt(reference) });
      expect(await shop.place.execute([order])).toMatchObject([{ outcome: 'placed' }]);
      await settle(shop, [order.id]);
      return order.id;
    };
    const left = async (...ids: string[]) =>
      (await Promise.all(ids.map((id) => shop.unmatched.get(id)))).map((row) => row?.handling);

    it('go to the order that is placed with it', async () => {
      const rows = [await told('checkout', 'c-1'), await told('checkout', 'c-2')];
      const id = await placedWith('checkout');
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['checkout PAID', 'c-2 PAID']]);
      expect(await left(...rows)).toEqual(['adopted', 'adopted']);
    });

    it('go to it without the first, if a person has settled that or it is too old', async () => {
      const rows = [await told('wired', 'w-1'), await told('wired', 'w-2'), await told('old', 'o-1', 60)];
      rows.push(await told('old', 'o-2'));
      await shop.settleUnmatched.execute({ id: rows[0] ?? '', reason: 'paid back' }, { by: { actor: 'anna' } });
      expect(await attemptsOf(await placedWith('wired'))).toEqual(['wired PAID']);
      expect(await attemptsOf(await placedWith('old'))).toEqual(['old PAID']);
      expect(await left(...rows)).toEqual(['settled', 'adopted', 'kept', 'adopted']);
    });

    it('wait for a person, except the first, if they came long before the order', async () => {
      const rows = [await told('aged', 'a-1'), await told('aged', 'a-2', 60)];
      expect(await attemptsOf(await placedWith('aged'))).toEqual(['aged PAID']);
      expect(await left(...rows)).toEqual(['adopted', 'kept']);
    });

    it('wait for a person, except the first, if only a report names it', async () => {
      const rows = [await told('named', 'n-1'), await told('named', 'n-2')];
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
      await pay(id, 'named', 1_000);
      await settle(shop, [id]);
      expect([await attemptsOf(id), await left(...rows)]).toEqual([['named PAID'], ['adopted', 'kept']]);
    });
  });
});

import { PAYMENT_RECONCILIATION } from '../../../src/orders/model/order-timeouts';
import { paymentSteps } from './payment-steps';
import { eventsOf, fill, type newOrder, openShop, reconcile, SCHEMA, settleUntilDone, type Shop } from './shop';

const ANNA = { cause: 'api', actor: 'anna' } as const;

describe('the order that a payment belongs to', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], merchants: { refunder: { latePayment: 'refund' } } });
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const { attempt, placed, report, confirm, expire, statusOf } = paymentSteps(() => shop);
  type Overrides = Parameters<typeof newOrder>[0];
  const own = (reference: string, more: Overrides = {}) => placed({ ...more, attempt: attempt(reference) });
  const found = (reference: string, transactionId: string) => {
    const money = { type: 'PAID', amount: 1_999n, currency: 'EUR', paidAt: new Date(), evidence: {} } as const;
    shop.provider.answerQuery(reference, { ...money, transactionId });
    shop.provider.answerClose(reference, { type: 'PAID' });
  };
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map(({ reference, status }) => `${reference} ${status}`);
  const rowsOf = async (id: string) =>
    (
      await shop.dataSource.query<{ text: string }[]>(
        `SELECT reference || ' ' || reason || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY id`,
        [id],
      )
    ).map(({ text }) => text);
  /** What a notification leaves that comes before its attempt. */
  const unowned = (reference: string) => {
    const money = { ...attempt(reference), merchantAccount: null, amount: 1_999n, currency: 'EUR' };
    const why = { reason: 'unknown-order', handling: 'kept', orderId: null, source: 'provider' } as const;
    return { ...money, ...why, evidence: {}, now: new Date() };
  };
  const rowOf = async (id: string) => (await shop.unmatched.list({ limit: 1_000 })).find((row) => row.orderId === id);
  /** What the engine does next: the timeout of the claim is due at once. */
  const lookedAt = async (id: string) => {
    expect(await shop.scheduler.find({ kind: PAYMENT_RECONCILIATION, key: id })).toBeDefined();
    await reconcile(shop, id);
  };
  /** An order that is paid by a report whose transaction id is the reference that another order registers later. */
  const claimed = async (name: string, more: Overrides = {}) => {
    const claimant = await own(`mine-${name}`, { merchantId: 'm2' });
    expect(await report(claimant, `mine-${name}`, 1_999, `theirs-${name}`)).toMatchObject({ outcome: 'paid' });
    return { claimant, rightful: await own(`theirs-${name}`, { merchantId: 'm1', ...more }) };
  };
  /** The provider has notified a payment under a reference that no order has registered yet. */
  const notifiedBefore = async (reference: string) => {
    const money = { ...attempt(reference), merchantAccount: null, amount: 1_999n, currency: 'EUR' };
    const why = { reason: 'unknown-order', handling: 'kept', orderId: null, source: 'provider' } as const;
    const row = { ...money, ...why, transactionId: `t-${reference}`, evidence: {}, now: new Date() };
    await shop.dataSource.transaction((tx) => shop.store.keepUnmatched(tx, [row]));
  };
  const expectLost = async (claimant: string, name: string) => {
    await lookedAt(claimant);
    expect(await attemptsOf(claimant)).toEqual([`mine-${name} CLOSED`]);
    expect(await rowsOf(claimant)).toEqual([`mine-${name} attempt-mismatch kept`]);
    const late = (await eventsOf(shop, claimant)).filter(({ routing_key }) => routing_key === 'order.payment_late');
    expect(late.map(({ body }) => body)).toMatchObject([{ reason: 'attempt-mismatch', handling: 'kept' }]);
    expect((await shop.history.execute(claimant)).at(-1)).toMatchObject({ reason: 'payment of another order' });
  };

  describe('a report whose transaction id is the registered reference of another order', () => {
    it.each(['m1', 'm2'])(
      'is refused for an order of %s, and says nothing about the other order',
      async (merchantId) => {
        const rightful = await own(`registered-${merchantId}`, { merchantId: 'm1' });
        const claimant = await own(`own-${merchantId}`, { merchantId });
        const result = await report(claimant, `own-${merchantId}`, 1_999, `registered-${merchantId}`);
        expect(result).toMatchObject({ outcome: 'attempt-mismatch', order: { id: claimant, status: 'PENDING' } });
        expect(JSON.stringify([result, await rowOf(claimant)])).not.toContain(rightful);
        expect(await attemptsOf(claimant)).toEqual([`own-${merchantId} OPEN`]);
        expect(await rowsOf(claimant)).toEqual([`own-${merchantId} attempt-mismatch kept`]);
        expect(await confirm(rightful, `registered-${merchantId}`)).toMatchObject({ outcome: 'paid' });
        expect(await rowsOf(rightful)).toEqual([]);
      },
    );

    it('does not hide what the provider says of that payment, if an order may not have it', async () => {
      const first = await own('pi_hidden', { merchantId: 'm1' });
      await confirm(first, 'pi_hidden', 1_999, 'ch_hidden');
      const second = await own('cs_hidden', { merchantId: 'm1' });
      const claimant = await own('own-hidden', { merchantId: 'm2' });
      expect(await report(claimant, 'cs_hidden')).toMatchObject({ outcome: 'attempt-mismatch' });
      await confirm(second, 'cs_hidden', 1_999, 'pi_hidden');
      expect([await rowsOf(second), await rowsOf(claimant)]).toEqual([['cs_hidden attempt-mismatch kept'], []]);
      const told = (await eventsOf(shop, second)).map(({ body }) => body);
      expect(told).toContainEqual(expect.objectContaining({ reference: 'cs_hidden', reason: 'attempt-mismatch' }));
    });

    it('is not booked when its order is placed later', async () => {
      await own('registered-first', { merchantId: 'm1' });
      expect(await report('claims-early', 'own-early', 1_999, 'registered-first')).toEqual({
        outcome: 'unknown-order',
      });
      await own('own-early', { id: 'claims-early', merchantId: 'm2' });
      await settleUntilDone(shop, ['claims-early']);
      expect(await statusOf('claims-early')).toBe('PENDING');
      expect(await attemptsOf('claims-early')).toEqual(['own-early OPEN']);
    });
  });

  describe.each([undefined, 'm-account'])(
    'a report by the id of the provider of money that came before its order, which has account %s',
    (merchantAccount) => {
      it('is refused while another order waits for that money, and cannot be assigned', async () => {
        const reference = `early-${merchantAccount ?? 'none'}`;
        const claimant = await placed({ merchantId: 'm2' });
        const row = { ...unowned(reference), transactionId: `t-${reference}` };
        await shop.dataSource.transaction((tx) => shop.store.keepUnmatched(tx, [row]));
        const rightful = await placed({ attempt: { ...attempt(reference), merchantAccount } });
        expect(await report(claimant, `t-${reference}`)).toMatchObject({ outcome: 'attempt-mismatch' });
        expect(await rowsOf(claimant)).toEqual([`t-${reference} attempt-mismatch kept`]);
        const assignment = { id: (await rowOf(claimant))?.id ?? '', orderId: claimant, reason: 'the receipt says so' };
        expect(await shop.assign.execute(assignment, { by: ANNA })).toMatchObject({ code: 'PAYMENT_TAKEN' });
        await settleUntilDone(shop, [rightful]);
        expect([await statusOf(rightful), await attemptsOf(claimant)]).toEqual(['PAID', []]);
      });
    },
  );

  describe('a payment that a report claims for another order', () => {
    it('pays the order that registered it when the provider notifies, and the other order loses it', async () => {
      const { claimant, rightful } = await claimed('notified');
      expect(await confirm(rightful, 'theirs-notified')).toMatchObject({ outcome: 'paid' });
      expect(await rowsOf(rightful)).toEqual([]);
      await expectLost(claimant, 'notified');
    });

    it('pays the order that registered it when its deadline finds it', async () => {
      const { claimant, rightful } = await claimed('found');
      found('theirs-found', 't-found');
      await expire(rightful);
      expect(await settleUntilDone(shop, [rightful])).toEqual([{ type: 'done' }]);
      expect([await statusOf(rightful), await rowsOf(rightful)]).toEqual(['PAID', []]);
      await expectLost(claimant, 'found');
    });

    it('revives the order that registered it', async () => {
      const { claimant, rightful } = await claimed('revived', { paymentWindowMs: 0 });
      await settleUntilDone(shop, [rightful]);
      expect(await confirm(rightful, 'theirs-revived')).toMatchObject({ outcome: 'late', order: { status: 'PAID' } });
      expect((await rowsOf(rightful)).filter((row) => row.endsWith('kept'))).toEqual([]);
      await expectLost(claimant, 'revived');
    });

    it('pays the order that registers it after the notification', async () => {
      const claimant = await own('mine-early', { merchantId: 'm2' });
      await report(claimant, 'mine-early', 1_999, 'theirs-early');
      await notifiedBefore('theirs-early');
      const rightful = await own('theirs-early', { merchantId: 'm1' });
      await settleUntilDone(shop, [rightful]);
      expect(await statusOf(rightful)).toBe('PAID');
      await expectLost(claimant, 'early');
    });

    it.each(['told', 'found', 'adopted'])(
      'pays the order that registered it, although a person has settled the report, who is asked when it is %s',
      async (how) => {
        const [mine, theirs] = [`mine-settled-${how}`, `theirs-settled-${how}`];
        const claimant = await own(mine, { merchantId: 'refunder', paymentWindowMs: 0 });
        await settleUntilDone(shop, [claimant]);
        await report(claimant, mine, 1_999, theirs);
        await reconcile(shop, claimant);
        const row = await rowOf(claimant);
        await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'no such payment' }, { by: ANNA });
        expect(await attemptsOf(claimant)).toEqual([`${mine} SETTLED`]);
        if (how === 'adopted') await notifiedBefore(theirs);
        const rightful = await own(theirs, { merchantId: 'm1', ...(how === 'found' ? { paymentWindowMs: 0 } : {}) });
        if (how === 'told') expect(await confirm(rightful, theirs)).toMatchObject({ outcome: 'paid' });
        else {
          if (how === 'found') found(theirs, `t-${theirs}`);
          expect(await settleUntilDone(shop, [rightful])).toEqual([{ type: 'done' }]);
        }
        expect(await attemptsOf(rightful)).toEqual([`${theirs} PAID`]);
        // The person may have paid this very payment back.
        expect(await rowsOf(rightful)).toEqual([`${theirs} attempt-mismatch kept`]);
        expect(await attemptsOf(claimant)).toEqual([`${mine} SETTLED`]);
      },
    );

    it('is taken from an order that is paid in part by it, whose attempt may then take money again', async () => {
      const claimant = await own('mine-part', { merchantId: 'm2', amount: 4_000 });
      await report(claimant, 'mine-part', 1_999, 'theirs-part');
      const rightful = await own('theirs-part', { merchantId: 'm1' });
      await confirm(rightful, 'theirs-part');
      await lookedAt(claimant);
      expect(await attemptsOf(claimant)).toEqual(['mine-part OPEN']);
      await expire(claimant);
      await settleUntilDone(shop, [claimant]);
      expect([await statusOf(claimant), await statusOf(rightful)]).toEqual(['CLOSED', 'PAID']);
    });

    it('is taken from an order that reported it under the transaction id of the provider', async () => {
      const claimant = await own('mine-id', { merchantId: 'm2' });
      await report(claimant, 'mine-id', 1_999, 't-theirs-id');
      const rightful = await own('theirs-id', { merchantId: 'm1' });
      expect(await confirm(rightful, 'theirs-id', 1_999, 't-theirs-id')).toMatchObject({ outcome: 'paid' });
      await expectLost(claimant, 'id');
    });

    it('is taken from an order that never registered it, although the provider knows of the payment', async () => {
      const claimant = await placed({ merchantId: 'm2' });
      await report(claimant, 'pi_known');
      await confirm(claimant, 'pi_known', 1_999, 'ch_known');
      const rightful = await own('cs_known', { merchantId: 'm1' });
      expect(await confirm(rightful, 'cs_known', 1_999, 'pi_known')).toMatchObject({ outcome: 'paid' });
      await lookedAt(claimant);
      expect(await attemptsOf(claimant)).toEqual(['pi_known DUPLICATE']);
    });

    it('stays where it is if the provider has confirmed it there', async () => {
      const first = await own('pi_first', { merchantId: 'm2' });
      await confirm(first, 'pi_first', 1_999, 'ch_first');
      const second = await own('cs_first', { merchantId: 'm1' });
      expect(await confirm(second, 'cs_first', 1_999, 'pi_first')).toMatchObject({ outcome: 'attempt-mismatch' });
      expect([await attemptsOf(first), await rowsOf(first)]).toEqual([['pi_first PAID'], []]);
    });

    it('stays with both orders, for a person, if the order that registered it does not need it', async () => {
      const { claimant, rightful } = await claimed('late', { merchantId: 'refunder', paymentWindowMs: 0 });
      await settleUntilDone(shop, [rightful]);
      await confirm(rightful, 'theirs-late');
      expect((await rowsOf(rightful)).sort()).toEqual(['theirs-late attempt-mismatch kept', 'theirs-late late kept']);
      expect(await attemptsOf(claimant)).toEqual(['mine-late PAID']);
      expect(await attemptsOf(rightful)).toEqual(['theirs-late PAID']);
    });

    it('is shown to a person while it is only a part for the order that registered it, and pays that one with the rest', async () => {
      const { claimant, rightful } = await claimed('share', { amount: 4_000 });
      found('theirs-share', 't-theirs-share');
      await expire(rightful);
      expect(await settleUntilDone(shop, [rightful])).toMatchObject([{ type: 'park' }]);
      expect(await rowsOf(rightful)).toContain('theirs-share attempt-mismatch kept');
      expect(await attemptsOf(claimant)).toEqual(['mine-share PAID']);
      expect(await confirm(rightful, 'the-rest', 2_001)).toMatchObject({ outcome: 'paid' });
      expect(await rowsOf(rightful)).toContain('theirs-share attempt-mismatch adopted');
      await expectLost(claimant, 'share');
    });

    it('is shown to a person, too, if that order adopts it', async () => {
      const claimant = await own('mine-before', { merchantId: 'm2' });
      await report(claimant, 'mine-before', 1_999, 'theirs-before');
      await notifiedBefore('theirs-before');
      const rightful = await own('theirs-before', { merchantId: 'm1', amount: 4_000 });
      await settleUntilDone(shop, [rightful]);
      expect(await attemptsOf(rightful)).toEqual(['theirs-before PAID']);
      expect(await rowsOf(rightful)).toContain('theirs-before attempt-mismatch kept');
      expect(await confirm(rightful, 'the-rest-before', 2_001)).toMatchObject({ outcome: 'paid' });
      expect(await rowsOf(rightful)).toContain('theirs-before attempt-mismatch adopted');
      await expectLost(claimant, 'before');
    });

    it('clears the report that its own order was refused', async () => {
      const { rightful } = await claimed('refused');
      expect(await report(rightful, 'theirs-refused')).toMatchObject({ outcome: 'attempt-mismatch' });
      expect(await rowsOf(rightful)).toEqual(['theirs-refused attempt-mismatch kept']);
      await confirm(rightful, 'theirs-refused');
      expect(await rowsOf(rightful)).toEqual(['theirs-refused attempt-mismatch adopted']);
    });
  });

  describe('a second payment under the reference that an order registered', () => {
    /** An order that has half of its price, before a report of another order names the other half. */
    const halfPaid = async (name: string) => {
      const rightful = await own(name, { merchantId: 'm1', amount: 4_000 });
      await confirm(rightful, name, 2_000, `t-${name}-1`);
      return rightful;
    };
    const confirmRest = (rightful: string, name: string) => confirm(rightful, name, 2_000, `t-${name}-2`);

    it('pays that order although a report claims it for another order, and a person is told', async () => {
      const rightful = await halfPaid('halves');
      const claimant = await own('mine-halves', { merchantId: 'm2' });
      expect(await report(claimant, 'mine-halves', 1_999, 't-halves-2')).toMatchObject({ outcome: 'paid' });
      expect(await confirmRest(rightful, 'halves')).toMatchObject({ outcome: 'paid' });
      expect(await confirmRest(rightful, 'halves')).toMatchObject({ outcome: 'already-paid' });
      expect(await attemptsOf(rightful)).toEqual(['halves PAID', 't-halves-2 PAID']);
      expect(await rowsOf(rightful)).toContain('t-halves-2 attempt-mismatch kept');
    });

    it('keeps that order from closing if a report has booked it under its name for another order', async () => {
      const rightful = await halfPaid('taken');
      const claimant = await placed({ merchantId: 'm2' });
      expect(await report(claimant, 't-taken-2')).toMatchObject({ outcome: 'paid' });
      expect(await confirmRest(rightful, 'taken')).toMatchObject({ outcome: 'attempt-mismatch' });
      await expire(rightful);
      expect(await settleUntilDone(shop, [rightful])).toMatchObject([{ type: 'park' }]);
      expect(await attemptsOf(rightful)).toEqual(['taken PAID']);
      expect(await rowsOf(rightful)).toEqual(['taken amount-mismatch kept', 't-taken-2 attempt-mismatch kept']);
    });
  });

  describe('a person', () => {
    const assign = (id: string, orderId: string) =>
      shop.assign.execute({ id, orderId, reason: 'the receipt names it' }, { by: ANNA });

    it('assigns a payment that only a report claims for another order', async () => {
      const { claimant, rightful } = await claimed('assigned');
      await report(rightful, 'theirs-assigned');
      const row = await rowOf(rightful);
      expect(await assign(row?.id ?? '', rightful)).toMatchObject({ outcome: 'assigned', booked: 'paid' });
      await expectLost(claimant, 'assigned');
      expect(await attemptsOf(rightful)).toEqual(['theirs-assigned PAID']);
    });

    it('cannot take a payment from another merchant by a report that names it as its transaction', async () => {
      const victim = await own('paid-by-report', { merchantId: 'm1' });
      expect(await report(victim, 'paid-by-report')).toMatchObject({ outcome: 'paid' });
      const thief = await own('made-up', { merchantId: 'm2' });
      expect(await report(thief, 'made-up', 1_999, 'paid-by-report')).toMatchObject({ outcome: 'attempt-mismatch' });
      const row = await rowOf(thief);
      expect(await assign(row?.id ?? '', thief)).toMatchObject({ outcome: 'rejected', code: 'PAYMENT_TAKEN' });
      expect([await attemptsOf(victim), await attemptsOf(thief)]).toEqual([['paid-by-report PAID'], ['made-up OPEN']]);
    });

    it.each([
      ['has registered, in full', true, 1_999],
      ['has registered, in part', true, 900],
      ['has not registered', false, 1_999],
    ])(
      'cannot take a payment that another merchant has reported, and %s, by a report of it',
      async (what, registers, amount) => {
        const name = what.replaceAll(/\W/g, '-');
        const victim = await placed({ merchantId: 'm1' });
        if (registers) await shop.register.execute({ orderId: victim, ...attempt(name) });
        await report(victim, name, amount, `ch-${name}`);
        const held = await attemptsOf(victim);
        for (const [reference, transactionId] of [
          [`own-${name}`, `ch-${name}`] as const,
          [`ch-${name}`, undefined] as const,
        ]) {
          const thief = await placed({ amount, merchantId: 'm2' });
          expect(await report(thief, reference, amount, transactionId)).toMatchObject({ outcome: 'attempt-mismatch' });
          const row = await rowOf(thief);
          expect(await assign(row?.id ?? '', thief)).toMatchObject({ outcome: 'rejected', code: 'PAYMENT_TAKEN' });
        }
        expect(await attemptsOf(victim)).toEqual(held);
      },
    );

    it('assigns a part of the price that a report claims for another order, before it goes back', async () => {
      const { claimant, rightful } = await claimed('some', { amount: 4_000 });
      await confirm(rightful, 'theirs-some');
      await expire(rightful);
      expect(await settleUntilDone(shop, [rightful])).toMatchObject([{ type: 'park' }]);
      const rows = await shop.unmatched.list({ limit: 1_000 });
      const row = rows.find(({ orderId, reason }) => orderId === rightful && reason === 'attempt-mismatch');
      expect(await assign(row?.id ?? '', rightful)).toMatchObject({ outcome: 'assigned' });
      await expectLost(claimant, 'some');
      await settleUntilDone(shop, [rightful]);
      expect(await attemptsOf(rightful)).toEqual(['theirs-some REFUNDING']);
    });

    it('cannot assign a payment that the provider has confirmed for another order', async () => {
      const holder = await own('held', { merchantId: 'm1' });
      await confirm(holder, 'held', 1_999, 'ch_held');
      const other = await own('wants', { merchantId: 'm2' });
      await report(other, 'wants', 1_999, 'ch_held');
      const row = await rowOf(other);
      expect(await assign(row?.id ?? '', other)).toMatchObject({ outcome: 'rejected', code: 'PAYMENT_TAKEN' });
    });

    it('cannot close or cancel an order while confirmed money that names it waits', async () => {
      const first = await own('pi_both', { merchantId: 'm2' });
      await confirm(first, 'pi_both', 1_999, 'ch_both');
      const second = await own('cs_both', { merchantId: 'm1' });
      await confirm(second, 'cs_both', 1_999, 'pi_both');
      const close = () =>
        shop.close.execute({ orderId: second, reason: 'checked', attemptsAreClosed: true }, { by: ANNA });
      expect(await close()).toMatchObject({
        code: 'ORDER_HAS_MONEY',
        payments: [{ provider: 'fake', reference: 'cs_both' }],
      });
      expect(await shop.cancel.execute({ orderId: second })).toMatchObject({ code: 'ORDER_HAS_MONEY' });
      const row = await rowOf(second);
      await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'it is that of the other order' }, { by: ANNA });
      expect(await close()).toMatchObject({ outcome: 'closed' });
    });

    it('can close an order although a report that names it waits', async () => {
      const holder = await own('only-told', { merchantId: 'm1' });
      const other = await placed({ merchantId: 'm2' });
      expect(await report(other, 'only-told')).toMatchObject({ outcome: 'attempt-mismatch' });
      expect(await shop.close.execute({ orderId: other, reason: 'checked' }, { by: ANNA })).toMatchObject({
        outcome: 'closed',
      });
      expect(await statusOf(holder)).toBe('PENDING');
    });
  });

  it('is asked about if a report had mixed it up with another one, which a person has settled', async () => {
    const id = await own('mixed-1');
    await shop.register.execute({ orderId: id, ...attempt('mixed-2') });
    await report(id, 'mixed-2', 1_000, 't-mixed-1');
    const row = await rowOf(id);
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back by wire' }, { by: ANNA });
    for (const reference of ['mixed-1', 'mixed-2']) found(reference, `t-${reference}`);
    await expire(id);
    await settleUntilDone(shop, [id]);
    // That person may have paid back either of them.
    expect(await attemptsOf(id)).toEqual(['mixed-1 SETTLED', 'mixed-2 SETTLED']);
    expect([await statusOf(id), await rowsOf(id)]).toEqual([
      'CLOSED',
      ['mixed-2 amount-mismatch kept', 'mixed-1 amount-mismatch kept'],
    ]);
  });

  it('is told once: a row about its other name is closed when the provider names the attempt', async () => {
    const id = await own('own-name', { merchantId: 'refunder', paymentWindowMs: 0 });
    await settleUntilDone(shop, [id]);
    expect(await report(id, 't-own-name')).toMatchObject({ outcome: 'late' });
    expect(await rowsOf(id)).toEqual(['t-own-name late kept']);
    await confirm(id, 'own-name');
    expect(await attemptsOf(id)).toEqual(['own-name REFUNDING', 't-own-name DUPLICATE']);
    expect(await rowsOf(id)).toEqual(['t-own-name late adopted', 'own-name late refunding']);
  });

  it('has one row for a part of the price, although the report names it otherwise', async () => {
    const id = await own('part-name', { amount: 4_000 });
    await confirm(id, 'part-name');
    expect(await report(id, 't-part-name')).toMatchObject({ outcome: 'amount-mismatch' });
    expect(await rowsOf(id)).toEqual(['part-name amount-mismatch waiting']);
  });

  it('is shown to a person if two orders have reported it under its two names', async () => {
    const [first, second] = [await placed(), await placed()];
    await report(first, 'cs_two');
    await report(second, 'pi_two');
    expect(await confirm(first, 'cs_two', 1_999, 'pi_two')).toMatchObject({ outcome: 'already-paid' });
    expect(await rowsOf(first)).toEqual(['cs_two attempt-mismatch kept']);
  });

  it('stays shown to a person if two orders registered it, and the provider confirms it to both', async () => {
    const [first, second] = [await own('both-first'), await own('both-second')];
    await report(second, 'both-second', 1_999, 't-both');
    await confirm(first, 'both-first', 1_999, 't-both');
    await confirm(second, 'both-second', 1_999, 't-both');
    expect([await statusOf(first), await statusOf(second)]).toEqual(['PAID', 'PAID']);
    expect(await rowsOf(second)).toEqual(['both-second attempt-mismatch kept']);
  });
});

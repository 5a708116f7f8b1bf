import { ANNA, type OperatorDesk, openDesk } from './operator-desk';
import { post } from './post-notification';
import { eventsOf, purgeOf, reconcile, SCHEMA, settleUntilDone } from './shop';

const DAY_MS = 86_400_000;

describe('a chargeback', () => {
  let desk: OperatorDesk;

  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  async function takes(
    reference: string,
    amount = 1_999n,
    disputeStatus = 'needs_response',
    more: { merchantAccount?: string; transactionId?: string } = {},
  ): Promise<void> {
    const evidence = { dispute: 'dp_1', disputeReason: 'fraudulent', disputeStatus };
    await post(desk, { type: 'CHARGEBACK', reference, ...more, amount, currency: 'EUR', evidence });
  }

  it('is told to a person once, and leaves the order and its other money as they are', async () => {
    const id = await desk.placed({ attempt: desk.attempt('c-1') });
    await desk.confirm(id, 'c-1');
    for (const repetition of [1, 2]) {
      await takes('c-1');
      expect([repetition, await desk.rowsOf('c-1')]).toEqual([repetition, ['chargeback kept']]);
    }
    expect((await eventsOf(desk.shop, id)).map(({ routing_key }) => routing_key)).toEqual([
      'order.paid',
      'order.payment_late',
    ]);
    expect(await desk.statusOf(id)).toBe('PAID');
    expect(await desk.attemptsOf(id)).toEqual(['c-1 PAID']);
    const [row] = await desk.openOf('c-1');
    expect(row).toMatchObject({ orderId: id, amount: 1_999, evidence: { dispute: 'dp_1' } });
    expect(await desk.shop.assign.execute({ id: row?.id ?? '', orderId: id, reason: 'x' })).toMatchObject({
      code: 'UNMATCHED_PAYMENT_HAS_ORDER',
    });
    await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'evidence sent' }, { by: { actor: 'anna' } });
    await takes('c-1');
    expect(await desk.rowsOf('c-1')).toEqual(['chargeback settled']);
    expect(await desk.statusOf(id)).toBe('PAID');
  });

  it('is told again if it is lost after a person has settled it', async () => {
    const id = await desk.placed({ attempt: desk.attempt('c-lost') });
    await desk.confirm(id, 'c-lost');
    await takes('c-lost');
    const [row] = await desk.openOf('c-lost');
    await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'evidence sent' }, { by: { actor: 'anna' } });
    await takes('c-lost', 1_999n, 'lost');
    await takes('c-lost', 1_999n, 'lost');
    expect(await desk.openOf('c-lost')).toMatchObject([{ handling: 'kept', evidence: { disputeStatus: 'lost' } }]);
    expect(await eventsOf(desk.shop, id)).toHaveLength(3);
  });

  it('of a payment that is known under the number of the provider names its order', async () => {
    const id = await desk.placed({ attempt: desk.attempt('c-session') });
    await desk.confirm(id, 'c-session');
    await takes('t-c-session', 500n);
    expect(await desk.openOf('c-session')).toMatchObject([{ reason: 'chargeback', orderId: id, amount: 500 }]);
  });

  it('of a payment that is only reported does not show the id of the report, which the provider does not know', async () => {
    const id = await desk.placed({ attempt: desk.attempt('c-reported') });
    await desk.report(id, 'c-reported');
    await takes('c-reported');
    const [row] = await desk.openOf('c-reported');
    expect(row).toMatchObject({ reason: 'chargeback', orderId: id, evidence: { dispute: 'dp_1' } });
    expect(row?.evidence).toMatchObject({ transactionId: null });
  });

  const settleRow = async (reference: string, reason: string): Promise<void> => {
    const row = (await desk.openOf(reference)).find((one) => one.reason === reason);
    const settlement = { id: row?.id ?? '', reason: 'answered' };
    expect(await desk.shop.unmatched.settle(settlement, { by: { actor: 'anna' } })).toMatchObject({
      outcome: 'settled',
    });
  };

  it('keeps a part of the price from being refunded as well, until a person decides about the part', async () => {
    const parts = [];
    for (const reference of ['c-won', 'c-gone']) {
      const id = await desk.placed({ attempt: desk.attempt(reference) });
      await desk.confirm(id, reference, 1_000);
      await takes(reference, 1_000n);
      await settleRow(reference, 'chargeback');
      expect(await desk.shop.cancel.execute({ orderId: id })).toMatchObject({ code: 'ORDER_HAS_MONEY' });
      await desk.expire(id);
      expect(await settleUntilDone(desk.shop, [id])).toMatchObject([{ type: 'park' }]);
      expect([await desk.attemptsOf(id), await desk.rowsOf(reference)]).toEqual([
        [`${reference} PAID`],
        ['amount-mismatch kept', 'chargeback settled'],
      ]);
      parts.push(id);
    }
    const [won = '', gone = ''] = parts;
    await desk.shop.refund.execute({ orderId: won, ...desk.attempt('c-won'), reason: 'won' }, { by: ANNA });
    await settleRow('c-gone', 'amount-mismatch');
    expect(await settleUntilDone(desk.shop, parts)).toEqual([{ type: 'done' }, { type: 'done' }]);
    expect([await desk.attemptsOf(won), await desk.attemptsOf(gone)]).toEqual([
      ['c-won REFUNDING'],
      ['c-gone SETTLED'],
    ]);
  });

  it('keeps a payment that comes late, and one that is too much, from being refunded as well', async () => {
    const closed = await desk.closed({ attempt: desk.attempt('c-late'), lines: [] });
    await takes('c-late', 1_999n);
    const cancelled = await desk.placed({ attempt: desk.attempt('c-over'), merchantId: 'refunder' });
    await takes('c-over', 1_999n);
    await desk.confirm(cancelled, 'c-over', 2_999);
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET status = 'CANCELLED', closing_reason = 'cancelled' WHERE id = $1`, [closed]); // prettier-ignore
    await desk.confirm(closed, 'c-late');
    expect([await desk.attemptsOf(closed), await desk.rowsOf('c-late')]).toEqual([
      ['c-late PAID'],
      ['chargeback kept', 'late kept'],
    ]);
    expect(await desk.rowsOf('c-over')).toEqual(['chargeback kept', 'overpaid kept']);
  });

  it('that came under the number of the provider before the payment was known keeps it from being refunded', async () => {
    await takes('t-c-early');
    expect(await desk.openOf('t-c-early')).toMatchObject([{ reason: 'chargeback' }]);
    const id = await desk.closed({ attempt: desk.attempt('c-early') });
    await desk.confirm(id, 'c-early');
    expect(await desk.rowsOf('c-early')).toEqual(['late kept']);
    expect(await desk.statusOf(id)).toBe('CLOSED');
  });

  it('keeps a second payment of its order, because the buyer may have paid again', async () => {
    const id = await desk.placed({ attempt: desk.attempt('c-first') });
    await desk.shop.register.execute({ orderId: id, ...desk.attempt('c-again') });
    await desk.confirm(id, 'c-first');
    await takes('c-first');
    expect(await desk.confirm(id, 'c-again')).toMatchObject({ outcome: 'surplus' });
    expect([await desk.attemptsOf(id), await desk.rowsOf('c-again')]).toEqual([
      ['c-first PAID', 'c-again PAID'],
      ['surplus kept'],
    ]);
  });

  it('does not let a late payment revive its order without a person', async () => {
    const id = await desk.closed({ attempt: desk.attempt('c-revive') });
    await takes('c-revive', 1_999n);
    for (const handling of ['kept', 'settled']) {
      if (handling === 'settled') await settleRow('c-revive', 'chargeback');
      await desk.confirm(id, 'c-revive');
      expect([await desk.statusOf(id), await desk.rowsOf('c-revive')]).toEqual([
        'CLOSED',
        [`chargeback ${handling}`, 'late kept'],
      ]);
    }
    const revival = { orderId: id, reason: 'the buyer has withdrawn it' };
    expect(await desk.shop.revive.execute(revival, { by: ANNA })).toMatchObject({ outcome: 'revived' });
  });

  it.each([
    ['own id of the provider', 't-c-purged', undefined],
    ['merchant account', 'c-purged', 'acct'],
  ])(
    'that is known by the %s keeps a second payment, whatever is purged after it is settled',
    async (what, named, account) => {
      const name = (reference: string): string => `${reference}-${what.length}`;
      await takes(name(named), 1_999n, 'needs_response', account === undefined ? {} : { merchantAccount: account });
      const id = await desk.placed({ attempt: desk.attempt(name('c-purged')) });
      await desk.shop.register.execute({ orderId: id, ...desk.attempt(name('c-second')) });
      await desk.confirm(id, name('c-purged'));
      await settleRow(name(named), 'chargeback');
      const longAgo = `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '400 days', resolved_at = now() - interval '400 days' WHERE reference = $1`;
      await desk.shop.dataSource.query(longAgo, [name(named)]);
      await purgeOf(desk.shop, { settledMoneyMs: DAY_MS }).runOnce();
      expect(await desk.confirm(id, name('c-second'))).toMatchObject({ outcome: 'surplus' });
      expect([await desk.rowsOf(name(named)), await desk.rowsOf(name('c-second'))]).toEqual([
        ['chargeback settled'],
        ['surplus kept'],
      ]);
    },
  );

  describe('of one of several payments under one reference', () => {
    const told = async (reference: string, ...ids: string[]): Promise<string> => {
      const id = await desk.placed({ amount: 2_000, attempt: desk.attempt(reference) });
      for (const transactionId of ids) {
        const money = { amount: 1_000n, currency: 'EUR', paidAt: new Date(), transactionId, evidence: {} };
        await post(desk, { type: 'PAID', reference, ...money });
      }
      return id;
    };

    const chargebacksOf = async (reference: string) =>
      (await desk.openOf(reference)).filter(({ reason }) => reason === 'chargeback');

    it('names the first, unless it has the transaction id of another', async () => {
      const id = await told('c-static', 's-1', 's-2');
      expect(await desk.attemptsOf(id)).toEqual(['c-static PAID', 's-2 PAID']);
      await takes('c-static', 1_000n, 'needs_response', { transactionId: 's-2' });
      expect(await chargebacksOf('c-static')).toEqual([]);
      expect(await chargebacksOf('s-2')).toMatchObject([{ orderId: id, evidence: { transactionId: 's-2' } }]);
      await takes('c-static', 1_000n);
      expect(await chargebacksOf('c-static')).toMatchObject([{ orderId: id, evidence: { transactionId: 's-1' } }]);
    });

    it('does not name the first if it has the transaction id of one that is told only later', async () => {
      const id = await told('c-ahead', 'a-1');
      await takes('c-ahead', 1_000n, 'needs_response', { transactionId: 'a-2' });
      expect(await chargebacksOf('c-ahead')).toEqual([]);
      expect(await chargebacksOf('a-2')).toMatchObject([{ orderId: id, evidence: { transactionId: 'a-2' } }]);
    });

    it('does not hide that of another one, if nobody has registered the reference', async () => {
      for (const transactionId of ['n-1', 'n-2', 'n-1']) {
        await takes('c-nobody', 1_000n, 'needs_response', { transactionId });
      }
      const rows = [...(await chargebacksOf('c-nobody')), ...(await chargebacksOf('n-2'))];
      expect(rows).toMatchObject([{ evidence: { transactionId: 'n-1' } }, { evidence: { transactionId: 'n-2' } }]);
    });
  });

  describe('of a payment that the provider names in several ways', () => {
    /** The provider says that the payment under this reference has this id. */
    const named = (orderId: string, reference: string, transactionId: string) => {
      const money = { orderId, ...desk.attempt(reference), amount: 1_999, currency: 'EUR', transactionId };
      return desk.shop.markPaid.confirm(money, { cause: 'notify' }, { account: null });
    };
    const reported = (orderId: string, reference: string, transactionId?: string) =>
      desk.shop.markPaid.execute({
        orderId,
        ...desk.attempt(reference),
        amount: 1_999,
        currency: 'EUR',
        transactionId,
      });
    /** An order that was canceled, so that what comes late is refunded. */
    const cancelled = async (reference: string): Promise<string> => {
      const id = await desk.placed({ attempt: desk.attempt(reference) });
      await desk.shop.cancel.execute({ orderId: id });
      await settleUntilDone(desk.shop, [id]);
      expect(await desk.statusOf(id)).toBe('CANCELLED');
      return id;
    };

    it.each([
      ['the id of the first name', 'ch_'],
      ['the second name', 'cs_'],
    ])('keeps it from being refunded if it comes first, under %s', async (what, prefix) => {
      const name = (kind: string): string => `${kind}${what.length}`;
      const id = await cancelled(name('cs_'));
      await takes(name(prefix));
      await named(id, name('pi_'), name('ch_'));
      await named(id, name('cs_'), name('pi_'));
      expect(await desk.attemptsOf(id)).toEqual([`${name('cs_')} PAID`, `${name('pi_')} DUPLICATE`]);
      expect(await desk.rowsOf(name('cs_'))).toContain('late kept');
    });

    it.each(['ch_then', 'pi_then', 'cs_then'])('names its order if it comes later, under %s', async (name) => {
      const [cs, pi] = [`cs_then-${name}`, `pi_then-${name}`];
      const id = await desk.placed({ attempt: desk.attempt(cs) });
      await desk.shop.register.execute({ orderId: id, ...desk.attempt(`again-${name}`) });
      await named(id, pi, `ch_then-${name}`);
      await named(id, cs, pi);
      await takes(`${name}-${name}`);
      expect(await desk.openOf(cs)).toMatchObject([{ reason: 'chargeback', orderId: id }]);
      await named(id, `again-${name}`, `t-again-${name}`);
      expect(await desk.rowsOf(`again-${name}`)).toEqual(['surplus kept']);
    });

    it.each(['pi_lost', 'ch_lost'])('names the order that has it, not one that lost it, under %s', async (name) => {
      const [cs, pi] = [`cs_lost-${name}`, `pi_lost-${name}`];
      const claimant = await desk.placed();
      await reported(claimant, pi);
      await named(claimant, pi, `ch_lost-${name}`);
      const rightful = await desk.placed({ attempt: desk.attempt(cs) });
      expect(await named(rightful, cs, pi)).toMatchObject({ outcome: 'paid' });
      await reconcile(desk.shop, claimant);
      expect(await desk.attemptsOf(claimant)).toEqual([`${pi} DUPLICATE`]);
      await takes(`${name}-${name}`);
      expect(await desk.openOf(cs)).toMatchObject([{ reason: 'chargeback', orderId: rightful }]);
    });

    it('names no order that has its id only by a report, and keeps it from being refunded', async () => {
      const claimant = await desk.placed({ attempt: desk.attempt('c-claims') });
      const rightful = await cancelled('c-rightful');
      await reported(claimant, 'c-claims', 'c-id');
      await takes('c-id');
      expect(await desk.openOf('c-id')).toMatchObject([{ reason: 'chargeback', orderId: null }]);
      await named(rightful, 'c-rightful', 'c-id');
      expect(await desk.rowsOf('c-rightful')).toContain('late kept');
    });
  });

  it('of a payment that nobody registered is told, too', async () => {
    await takes('c-unknown');
    expect(await desk.openOf('c-unknown')).toMatchObject([{ reason: 'chargeback', orderId: null }]);
  });
});

import { randomUUID } from 'node:crypto';
import { type OperatorDesk, openDesk } from './operator-desk';
import { tellPaid } from './post-notification';
import { reconcile, settleUntilDone } from './shop';

describe('a report of a payment that its provider has told of before, for no order', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const told = (reference: string, transactionId: string, amount?: bigint) =>
    tellPaid(desk, reference, transactionId, amount);
  /** Without the id that the provider has for it. */
  const report = (orderId: string, reference: string) =>
    desk.shop.markPaid.execute({ orderId, ...desk.attempt(reference), amount: 1_999, currency: 'EUR' });
  const open = async (...references: string[]) =>
    (await Promise.all(references.map((one) => desk.openOf(one))))
      .flat()
      .map(({ reason, amount }) => `${reason} ${amount}`);

  describe('before the order is placed', () => {
    it.each([
      ['first', 'v-1', false, true],
      ['after the notification', 'v-2', false, false],
      ['first, for an attempt that is registered', 'v-3', true, true],
    ])('%s, has the amount of the provider', async (_when, name, isRegistered, isFirst) => {
      const id = randomUUID();
      if (isFirst) await report(id, `pi-${name}`);
      await told(`cs-${name}`, `pi-${name}`, 500n);
      if (!isFirst) await report(id, `pi-${name}`);
      await desk.placed({ id, ...(isRegistered && { attempt: desk.attempt(`cs-${name}`) }) });
      expect(await desk.statusOf(id)).toBe('PENDING');
      await desk.expire(id);
      const [outcome] = await settleUntilDone(desk.shop, [id]);
      expect([await desk.statusOf(id), outcome?.type]).toEqual(
        isRegistered ? ['REFUNDING', 'done'] : ['PENDING', 'park'],
      );
    });
  });

  describe('under two names', () => {
    it('closes what is open under each of them', async () => {
      await told('pi-a', 't-a');
      await told('cs-a', 't-a');
      const id = await desk.placed();
      expect(await report(id, 'cs-a')).toMatchObject({ outcome: 'paid' });
      expect(await open('pi-a', 'cs-a')).toEqual([]);
    });

    it.each(['the notifications', 'the look-ups'])(
      'is told to a person if one had settled it and %s show that it was all that paid the order',
      async (source) => {
        const [first, second] = [`cs-${source}`, `pi-${source}`];
        const id = await desk.placed({ attempt: desk.attempt(first) });
        await told(second, second);
        await desk.shop.register.execute({ orderId: id, ...desk.attempt(second) });
        expect(await desk.settle(second)).toBe('settled');
        expect(await report(id, first)).toMatchObject({ outcome: 'paid' });
        if (source === 'the look-ups') {
          const paid = { type: 'PAID', amount: 1_999n, currency: 'EUR', paidAt: new Date(), evidence: {} } as const;
          for (const name of [first, second]) desk.shop.provider.answerQuery(name, { ...paid, transactionId: second });
          await reconcile(desk.shop, id);
        } else for (const name of [second, first]) await told(name, second);
        expect(await desk.attemptsOf(id)).toEqual([`${first} DUPLICATE`, `${second} SETTLED`]);
        expect([await desk.statusOf(id), await open(first, second)]).toEqual(['PAID', ['amount-mismatch 1999']]);
        expect(await desk.reopen(second, 'unknown-order')).toBe('adopted');
        expect([await desk.attemptsOf(id), await open(first, second)]).toEqual([
          [`${first} DUPLICATE`, `${second} PAID`],
          [],
        ]);
      },
    );
  });

  describe('under the last of three names, of which the order registers the first', () => {
    const names = (name: string) => [`cs-${name}`, `pi-${name}`, `ch-${name}`] as const;
    const early = async (id: string, name: string, amount?: bigint): Promise<void> => {
      const [first, second, last] = names(name);
      await report(id, last);
      await told(second, last, amount);
      await told(first, second, amount);
      await desk.placed({ id, attempt: desk.attempt(first) });
      await settleUntilDone(desk.shop, [id]);
    };

    it.each([
      ['nothing is spare', 'b', 1_999n, []],
      ['has the amount of the provider', 'c', 2_500n, ['overpaid 501']],
    ])('is that payment, and %s', async (_what, name, amount, rows) => {
      const id = randomUUID();
      await early(id, name, amount);
      expect([await desk.statusOf(id), await desk.attemptsOf(id)]).toEqual(['PAID', [`cs-${name} PAID`]]);
      expect(await open(...names(name))).toEqual(rows);
    });

    it('is not that payment if it was reported for another order', async () => {
      const other = randomUUID();
      await report(other, 'ch-d');
      await early(randomUUID(), 'd');
      await desk.placed({ id: other });
      expect(await open('ch-d')).not.toEqual([]);
    });
  });
});

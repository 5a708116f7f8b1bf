import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { tellPaid } from './post-notification';
import { settleUntilDone } from './shop';

describe('a registered attempt of which the provider has stated no valid amount, which a person has settled', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const placed = async (merchantId: string | undefined, ...references: string[]): Promise<string> => {
    const orderId = await desk.placed({ lines: [], ...(merchantId !== undefined && { merchantId }) });
    for (const reference of references) await desk.shop.register.execute({ orderId, ...desk.attempt(reference) });
    return orderId;
  };
  const tell = (reference: string, amount: bigint): Promise<void> =>
    tellPaid(desk, reference, `t-${reference}`, amount);
  const invalidOf = async (reference: string): Promise<string> =>
    (await desk.openOf(reference)).find(({ reason }) => reason === 'invalid-amount')?.id ?? '';
  const settle = async (reference: string): Promise<void> => {
    const request = { id: await invalidOf(reference), reason: 'refunded there' };
    expect(await desk.shop.unmatched.settle(request, { by: ANNA })).toMatchObject({ outcome: 'settled' });
  };
  const refund = (orderId: string, reference: string): Promise<unknown> =>
    desk.shop.refund.execute({ orderId, ...desk.attempt(reference), reason: 'asked' }, { by: ANNA });

  it('pays its order if the provider confirms it later, and a person is told, who may have paid it back', async () => {
    const orderId = await placed(undefined, 'i-1');
    await tell('i-1', 0n);
    await settle('i-1');
    await tell('i-1', 1_999n);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.openOf('i-1')).toMatchObject([{ reason: 'attempt-mismatch', amount: 1_999, orderId }]);
  });

  it.each([
    ['a part of the price', 'i-2', ['i-2'], 500n],
    ['more than the order needs', 'i-3', ['i-3', 'i-3-other'], 1_999n],
  ])('is not refunded without a person if the provider confirms it later as %s', async (_as, name, all, amount) => {
    const orderId = await placed(undefined, ...all);
    for (const other of all.slice(1)) await tell(other, 1_999n);
    await tell(name, 0n);
    await settle(name);
    await tell(name, amount);
    await desk.expire(orderId);
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.attemptsOf(orderId)).toContain(`${name} PAID`);
    expect(await desk.rowsOf(name)).toContain('attempt-mismatch kept');
  });

  it('can be refunded like any other if the provider had confirmed it before that', async () => {
    const orderId = await placed('keeper', 'i-4', 'i-4-other');
    await tell('i-4-other', 1_999n);
    await tell('i-4', 0n);
    await tell('i-4', 1_999n);
    await settle('i-4');
    expect(await refund(orderId, 'i-4')).toMatchObject({ outcome: 'refunding' });
  });

  it('has nothing left of the settlement once it is reopened', async () => {
    const orderId = await placed(undefined, 'i-5');
    await tell('i-5', 0n);
    const id = await invalidOf('i-5');
    await settle('i-5');
    expect(await desk.shop.unmatched.reopen({ id, reason: 'nothing was there' }, { by: ANNA })).toMatchObject({
      outcome: 'reopened',
    });
    await tell('i-5', 1_999n);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.rowsOf('i-5')).not.toContain('attempt-mismatch kept');
  });
});

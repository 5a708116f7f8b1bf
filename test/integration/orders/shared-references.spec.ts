import { ANNA, type OperatorDesk, openDesk } from './operator-desk';
import { post, tellPaid } from './post-notification';
import { dueOf, reconcile, runOnce, SCHEMA, settleUntilDone } from './shop';

let desk: OperatorDesk;

const lines = [{ sku: 'apple', quantity: 1, unitAmount: 100 }];

/** An order of 100. */
const placed = (): Promise<string> => desk.placed({ amount: 100, lines });

const tell = (reference: string, transactionId: string, amount = 100): Promise<void> =>
  tellPaid(desk, reference, transactionId, BigInt(amount));

/** @param reference the payment's own id, or what several payments share */
async function report(orderId: string, reference: string, amount = 100, transactionId?: string): Promise<string> {
  const payment = { orderId, ...desk.attempt(reference), amount, currency: 'EUR', transactionId };
  return (await desk.shop.markPaid.execute(payment)).outcome;
}

/** All rows of these payments: of each, the order that it names. */
async function rowsOf(...references: string[]): Promise<string[]> {
  const rows = await desk.shop.dataSource.query<{ text: string }[]>(
    `SELECT concat_ws(' ', reference, reason, amount, handling, order_id) AS text FROM ${SCHEMA}.unmatched_payment
      WHERE reference = ANY($1) ORDER BY id`,
    [references],
  );
  return rows.map(({ text }) => text);
}

async function holds(id: string): Promise<string[]> {
  const order = await desk.shop.readOrder.execute(id);
  return [order?.status ?? '', ...(order?.attempts ?? []).map((one) => `${one.reference} ${one.status}`).sort()];
}

const finds = (reference: string, transactionId: string, amount = 100n): void => {
  const money = { amount, currency: 'EUR', paidAt: new Date(), transactionId, evidence: {} };
  desk.shop.provider.answerQuery(reference, { type: 'PAID', ...money });
};

/** A static QR code at the till, or a customer number as the text of a bank transfer: several buyers pay under it. */
describe('a reference that no order has registered', () => {
  beforeAll(async () => {
    desk = await openDesk();
  });

  afterAll(() => desk.shop.database.drop());

  it.each([
    ['reported for', report],
    ['assigned to', (orderId: string, reference: string) => desk.assign(reference, orderId)],
  ])('has payments that are each %s its own order, whenever they were told of', async (how, give) => {
    const [till, one, two] = [`till ${how}`, `${how} 1`, `${how} 2`];
    const [a, b] = [await placed(), await placed()];
    await tell(till, one);
    expect(await give(a, till)).toBe('paid');
    await tell(till, two);
    await tell(till, two);
    await tell(till, one);
    expect(await rowsOf(till, two)).toEqual([`${till} unknown-order 100 adopted`, `${two} unknown-order 100 kept`]);
    expect(await give(b, two)).toBe('paid');
    await tell(till, two);
    await tell(till, one);
    expect([await holds(a), await holds(b)]).toEqual([
      ['PAID', `${till} PAID`],
      ['PAID', `${two} PAID`],
    ]);
    expect(await desk.openOf(two)).toEqual([]);
  });

  it('has payments that are each for the order that they were reported for before the provider told of them', async () => {
    const [a, b] = [await placed(), await placed()];
    await tell('counter', 'counter-1');
    await desk.assign('counter', a);
    expect(await report(b, 'counter-2')).toBe('paid');
    await tell('counter', 'counter-2');
    expect([await holds(a), await holds(b)]).toEqual([
      ['PAID', 'counter PAID'],
      ['PAID', 'counter-2 PAID'],
    ]);
    expect(await rowsOf('counter-2')).toEqual([]);
  });

  it('has no row by its name for a second payment although the first one had none', async () => {
    const [a, b] = [await placed(), await placed()];
    await report(a, 'sign');
    await tell('sign', 'sign-1');
    await tell('sign', 'sign-2');
    expect(await rowsOf('sign', 'sign-2')).toEqual(['sign-2 unknown-order 100 kept']);
    const [row] = await desk.openOf('sign-2');
    expect(row?.evidence).toMatchObject({ transactionId: 'sign-2', reference: 'sign' });
    expect([await desk.assign('sign-2', b), await holds(a)]).toEqual(['paid', ['PAID', 'sign PAID']]);
  });

  it('is told of another payment by a bank that takes it back, or without a valid amount, which names no order', async () => {
    const a = await placed();
    await tell('kiosk', 'kiosk-1');
    await desk.assign('kiosk', a);
    const disputed = { amount: 100n, currency: 'EUR', evidence: { dispute: 'dp_1' } };
    await post(desk, { type: 'CHARGEBACK', reference: 'kiosk', transactionId: 'kiosk-2', ...disputed });
    await tell('kiosk', 'kiosk-3', -5);
    expect(await rowsOf('kiosk', 'kiosk-2', 'kiosk-3')).toEqual([
      'kiosk unknown-order 100 adopted',
      'kiosk-2 chargeback 100 kept',
      'kiosk-3 invalid-amount 0 kept',
    ]);
    expect(await desk.kindsOf(a)).toEqual([]);
    await post(desk, { type: 'CHARGEBACK', reference: 'kiosk', transactionId: 'kiosk-1', ...disputed });
    expect(await rowsOf('kiosk')).toContain(`kiosk chargeback 100 kept ${a}`);
  });

  it('gives an order that is paid in part by it no rest, which would be the money of another buyer', async () => {
    const [a, b] = [await placed(), await placed()];
    await tell('stall', 'stall-1', 40);
    expect(await desk.assign('stall', a)).toBe('amount-mismatch');
    await tell('stall', 'stall-2');
    expect(await holds(a)).toEqual(['PENDING', 'stall PAID']);
    // Nor does it keep the order from ending.
    await desk.expire(a);
    expect(await settleUntilDone(desk.shop, [a])).toEqual([{ type: 'done' }]);
    expect(await holds(a)).toEqual(['REFUNDING', 'stall REFUNDING']);
    expect(await desk.shop.dataSource.query(`SELECT reference FROM ${SCHEMA}.refund WHERE order_id = $1`, [a])).toEqual(
      [{ reference: 'stall' }],
    );
    expect([await desk.assign('stall-2', b), await holds(b)]).toEqual(['paid', ['PAID', 'stall-2 PAID']]);
  });

  it('revives no order by a later payment', async () => {
    const a = await placed();
    await tell('booth', 'booth-1', 40);
    await desk.assign('booth', a);
    expect(await desk.settle('booth', 'amount-mismatch')).toBe('settled');
    await desk.expire(a);
    await settleUntilDone(desk.shop, [a]);
    await tell('booth', 'booth-2');
    expect(await holds(a)).toEqual(['CLOSED', 'booth SETTLED']);
    expect(await rowsOf('booth-2')).toEqual(['booth-2 unknown-order 100 kept']);
  });

  it("is told of a further payment by a look-up that was under way, which is nobody's", async () => {
    const orders = [await placed(), await placed()];
    for (const [index, reference] of ['cart', 'wagon'].entries()) {
      await report('not-placed', reference, 40);
      await desk.assign(reference, orders[index] ?? '');
      finds(reference, `${reference}-2`);
    }
    const [a = '', b = ''] = orders;
    await desk.expire(a);
    const { signal } = new AbortController();
    const answer = await desk.shop.reconciling.lookUp(dueOf(a), signal);
    const other = await desk.shop.reconciling.lookUp(dueOf(b), signal);
    await tell('cart', 'cart-1', 40);
    await tell('wagon', 'wagon-1', 40);
    const due = [dueOf(a, { answer })];
    await desk.shop.dataSource.transaction((tx) => desk.shop.closing.handleBatch(due, tx));
    const answered = [dueOf(b, { answer: other })];
    await desk.shop.dataSource.transaction((tx) => desk.shop.reconciling.handleBatch(answered, tx));
    expect([await rowsOf('cart-2'), await rowsOf('wagon-2')]).toEqual([
      ['cart-2 unknown-order 100 kept'],
      ['wagon-2 unknown-order 100 kept'],
    ]);
    expect([await holds(a), await holds(b)]).toEqual([
      ['REFUNDING', 'cart REFUNDING'],
      ['PENDING', 'wagon PAID'],
    ]);
  });

  it('gives its second payment to no order that a person has given the first one of another order', async () => {
    const [a, b] = [await placed(), await placed()];
    await tell('taken', 'taken-1');
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE reference = 'taken'`,
    );
    await desk.shop.register.execute({ orderId: b, ...desk.attempt('taken') });
    expect([await desk.assign('taken', a), await holds(a)]).toEqual(['paid', ['PAID', 'taken PAID']]);
    await tell('taken', 'taken-2');
    expect([await holds(a), await holds(b)]).toEqual([['PAID', 'taken PAID'], ['PENDING']]);
    expect(await rowsOf('taken-2')).toEqual(['taken-2 unknown-order 100 kept']);
  });

  it('is that of an order from the time when the order registers it: both payments pay it', async () => {
    const a = await placed();
    await desk.shop.register.execute({ orderId: a, ...desk.attempt('own') });
    await report(a, 'own', 50);
    await tell('own', 'own-1', 50);
    await tell('own', 'own-2', 50);
    expect(await holds(a)).toEqual(['PAID', 'own PAID', 'own-2 PAID']);
    await reconcile(desk.shop, a);
    expect(await rowsOf('own-2')).toEqual([]);
    await runOnce(desk.shop, desk.shop.watching, dueOf(a, { kind: 'order.late-watch' }));
    expect(await holds(a)).toEqual(['PAID', 'own PAID', 'own-2 PAID']);
  });

  it.each([
    ['reported for', report],
    ['assigned to', (orderId: string, reference: string) => desk.assign(reference, orderId)],
  ])('is that of an order that registers it after a part was %s it: the rest pays it', async (how, give) => {
    const [a, own] = [await placed(), `own, ${how}`];
    await tell(own, `${how} p1`, 50);
    await give(a, own, 50);
    expect(await desk.shop.register.execute({ orderId: a, ...desk.attempt(own) })).toMatchObject({
      outcome: 'registered',
    });
    expect(await desk.shop.register.execute({ orderId: a, ...desk.attempt(own) })).toMatchObject({
      outcome: 'replayed',
    });
    await tell(own, `${how} p2`, 50);
    expect(await holds(a)).toEqual(['PAID', `${how} p2 PAID`, `${own} PAID`].sort());
    expect(await rowsOf(`${how} p2`)).toEqual([]);
  });

  it('is not for an order to register that holds a part by the other name of what another one has registered', async () => {
    const [a, b] = [await placed(), await placed()];
    await desk.shop.register.execute({ orderId: a, ...desk.attempt('session') });
    await report(b, 'intent', 40);
    await tell('intent', 'intent', 40);
    await tell('session', 'intent', 40);
    expect(await desk.shop.register.execute({ orderId: b, ...desk.attempt('intent') })).toEqual({
      outcome: 'rejected',
      code: 'ATTEMPT_EXISTS',
    });
    await tell('session', 'rest', 60);
    await reconcile(desk.shop, b);
    expect([await holds(a), await holds(b)]).toEqual([
      ['PAID', 'rest PAID', 'session PAID'],
      ['PENDING', 'intent DUPLICATE'],
    ]);
  });

  it('gives no further payment to an order to which a person has assigned what a report had given it', async () => {
    const [a, b] = [await placed(), await placed()];
    await tell('stand', 'stand-1');
    expect(await report(a, 'stand')).toBe('paid');
    expect(await desk.assign('stand', a)).toBe('already-paid');
    await tell('stand', 'stand-2');
    expect(await report(b, 'stand-2')).toBe('paid');
    expect([await holds(a), await holds(b)]).toEqual([
      ['PAID', 'stand PAID'],
      ['PAID', 'stand-2 PAID'],
    ]);
  });

  it('has payments of which a report means the one that it also names by its id', async () => {
    const [a, b] = [await placed(), await desk.placed({ amount: 60, lines: [] })];
    await tell('both', 'both-1');
    await tell('both', 'both-2', 60);
    expect(await report(b, 'both', 60, 'both-2')).toBe('paid');
    expect(await report(a, 'both', 100, 'both-1')).toBe('paid');
    expect([await holds(a), await holds(b)]).toEqual([
      ['PAID', 'both PAID'],
      ['PAID', 'both-2 PAID'],
    ]);
  });

  it('has payments of which a report means the one that it names by both names, though an order has the first', async () => {
    const [a, b] = [await placed(), await placed()];
    await tell('hatch', 'hatch-1');
    expect(await report(a, 'hatch')).toBe('paid');
    await tell('hatch', 'hatch-2');
    expect(await report(b, 'hatch', 100, 'hatch-2')).toBe('paid');
    expect([await holds(a), await holds(b)]).toEqual([
      ['PAID', 'hatch PAID'],
      ['PAID', 'hatch-2 PAID'],
    ]);
    expect(await rowsOf('hatch', 'hatch-2')).not.toContainEqual(expect.stringContaining('kept'));
  });

  it('leaves a payment under it to the order that has registered it, whoever reports it by both names', async () => {
    const [a, b] = [await desk.placed({ amount: 100, lines, attempt: desk.attempt('gate') }), await placed()];
    await tell('gate', 'gate-1', 50);
    await tell('gate', 'gate-2', 50);
    expect(await report(b, 'gate', 50, 'gate-2')).toBe('attempt-mismatch');
    expect([await holds(a), await holds(b)]).toEqual([['PAID', 'gate PAID', 'gate-2 PAID'], ['PENDING']]);
  });

  it('has payments of which a report of an order that comes later means the one that it also names', async () => {
    await tell('soon', 'soon-1');
    await tell('soon', 'soon-2', 60);
    await report('soon-b', 'soon', 60, 'soon-2');
    await desk.placed({ id: 'soon-b', amount: 60, lines: [] });
    expect(await settleUntilDone(desk.shop, ['soon-b'])).toEqual([{ type: 'done' }]);
    expect(await holds('soon-b')).toEqual(['PAID', 'soon-2 PAID']);
    expect(await rowsOf('soon')).toEqual(['soon unknown-order 100 kept']);
  });

  it('may be as long as the text of a bank transfer, and so may the id of a second payment', async () => {
    const [text, id] = ['t'.repeat(140), 'i'.repeat(255)];
    const [a, b] = [await placed(), await desk.placed({ amount: 100, lines, attempt: desk.attempt('known text') })];
    await tell(text, 'long-1');
    expect(await desk.assign(text, a)).toBe('paid');
    await tell('known text', 'short', 50);
    await tell('known text', id, 50);
    expect(await holds(b)).toEqual(['PAID', `${id} PAID`, 'known text PAID']);
  });

  it.each([100, 50])('tells of a second report of %s with another id, which may be another payment', async (amount) => {
    const id = await placed();
    const reference = `transfers of ${amount}`;
    await report(id, reference, amount, `line 1 of ${amount}`);
    await report(id, reference, amount, `line 1 of ${amount}`);
    expect(await desk.idOf(reference, 'attempt-mismatch')).toBe('');
    await report(id, reference, amount, `line 2 of ${amount}`);
    expect(await rowsOf(reference)).toContain(`${reference} attempt-mismatch ${amount} kept ${id}`);
  });
});

describe('a payment that was reported for the wrong order', () => {
  beforeAll(async () => {
    desk = await openDesk();
  });

  afterAll(() => desk.shop.database.drop());

  it('is lost by that order, which a person is told of, when it is assigned to the right one', async () => {
    const [right, wrong] = [await placed(), await placed()];
    expect(await report(wrong, 'wire')).toBe('paid');
    expect(await report(right, 'wire')).toBe('attempt-mismatch');
    expect(await desk.assign('wire', right, 'attempt-mismatch')).toBe('paid');
    await reconcile(desk.shop, wrong);
    expect([await holds(right), await holds(wrong)]).toEqual([['PAID', 'wire PAID'], ['PAID']]);
    expect(await rowsOf('wire')).toEqual([`wire attempt-mismatch 100 kept ${wrong}`]);
    expect(await desk.lastOf(wrong)).toMatchObject({ actor: 'anna', evidence: { to: right } });
  });

  it('is lost by an order of which it was a part, and which then ends unpaid', async () => {
    const [right, wrong] = [await desk.placed({ amount: 40, lines: [] }), await placed()];
    expect(await report(wrong, 'part', 40)).toBe('amount-mismatch');
    expect(await report(right, 'part', 40)).toBe('attempt-mismatch');
    expect(await desk.assign('part', right, 'attempt-mismatch')).toBe('paid');
    await desk.expire(wrong);
    finds('part', 'part-1', 40n);
    expect(await settleUntilDone(desk.shop, [wrong])).toEqual([{ type: 'done' }]);
    expect([await holds(right), await holds(wrong)]).toEqual([['PAID', 'part PAID'], ['CLOSED']]);
    expect(await rowsOf('part')).toEqual([
      expect.stringMatching(`part amount-mismatch 40 (adopted|completed) ${wrong}`),
      `part attempt-mismatch 40 kept ${wrong}`,
    ]);
  });

  it('is assigned to the right one after what the person has settled is open again', async () => {
    const [right, wrong] = [await placed(), await placed()];
    await desk.shop.cancel.execute({ orderId: wrong }, { by: ANNA });
    expect(await report(wrong, 'late wire')).toBe('late');
    expect(await desk.settle('late wire', 'late')).toBe('settled');
    expect(await report(right, 'late wire')).toBe('attempt-mismatch');
    expect(await desk.assign('late wire', right, 'attempt-mismatch')).toBe('PAYMENT_TAKEN');
    const request = { id: await desk.idOf('late wire', 'late'), reason: 'it was for another order' };
    expect(await desk.shop.unmatched.reopen(request, { by: ANNA })).toMatchObject({ outcome: 'reopened' });
    expect(await desk.assign('late wire', right, 'attempt-mismatch')).toBe('paid');
    expect(await holds(right)).toEqual(['PAID', 'late wire PAID']);
    expect(await rowsOf('late wire')).toEqual([
      `late wire late 100 adopted ${wrong}`,
      `late wire attempt-mismatch 100 kept ${wrong}`,
    ]);
  });

  it('makes another payment of that order, which was too much, one that it needs', async () => {
    const keeper = { amount: 100, lines, merchantId: 'keeper' };
    const [right, wrong] = [await desk.placed(keeper), await desk.placed(keeper)];
    await desk.shop.register.execute({ orderId: wrong, ...desk.attempt('card') });
    expect(await report(wrong, 'first wire')).toBe('paid');
    expect((await desk.confirm(wrong, 'card', 100)).outcome).toBe('surplus');
    expect(await report(right, 'first wire')).toBe('attempt-mismatch');
    expect(await desk.assign('first wire', right, 'attempt-mismatch')).toBe('paid');
    expect(await holds(wrong)).toEqual(['PAID', 'card PAID']);
    expect(await rowsOf('card', 'first wire')).not.toContainEqual(expect.stringMatching(/surplus 100 kept/));
  });

  it.each([
    ['pays', 50, 'PAID'],
    ['is a part of', 100, 'PENDING'],
  ])('is assigned though it is the second under a reference, and %s the wrong order', async (how, amount, status) => {
    const [first, second] = [`${how} first`, `${how} second`];
    const right = await desk.placed({ amount: 100, lines, attempt: desk.attempt(how) });
    const wrong = await desk.placed({ amount, lines: [{ sku: 'apple', quantity: 1, unitAmount: amount }] });
    await tell(how, first, 50);
    await report(wrong, second, 50);
    await tell(how, second, 50);
    expect(await desk.assign(second, right, 'attempt-mismatch')).toBe('paid');
    expect([await desk.statusOf(right), await holds(wrong)]).toEqual(['PAID', [status]]);
  });

  it.each<[string, (orderId: string, reference: string, id: string) => Promise<unknown>]>([
    ['told', (_, reference, id) => tell(reference, id, 50)],
    [
      'looked up',
      (orderId, reference, id) => {
        finds(reference, id, 50n);
        return desk.expire(orderId).then(() => settleUntilDone(desk.shop, [orderId]));
      },
    ],
  ])('and was %s, is taken from another merchant only by who registered the reference', async (how, learn) => {
    const [reference, first, second] = [`merchants ${how}`, `${how} 1`, `${how} 2`];
    const right = await desk.placed({ amount: 100, lines, attempt: desk.attempt(reference) });
    const wrong = await desk.placed({ amount: 100, lines, merchantId: 'another' });
    await tell(reference, first, 50);
    await report(wrong, second, 50);
    await learn(right, reference, second);
    expect(await desk.assign(second, await placed(), 'attempt-mismatch')).toBe('PAYMENT_TAKEN');
    expect(await desk.assign(second, right, 'attempt-mismatch')).toMatch(/paid|booked/);
  });

  it('stays where it is once the provider has confirmed it there, or the wrong order registered it', async () => {
    const [right, confirmed, registered] = [
      await placed(),
      await placed(),
      await desk.placed({ amount: 100, lines, attempt: desk.attempt('own wire') }),
    ];
    await report(confirmed, 'sure wire');
    await desk.confirm(confirmed, 'sure wire', 100);
    await report(registered, 'own wire');
    for (const reference of ['sure wire', 'own wire']) {
      expect(await report(right, reference)).toBe('attempt-mismatch');
      expect(await desk.assign(reference, right, 'attempt-mismatch')).toBe('PAYMENT_TAKEN');
    }
  });
});

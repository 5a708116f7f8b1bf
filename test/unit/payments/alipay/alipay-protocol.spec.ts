import { createVerify } from 'node:crypto';
import { type FaultInput } from 'nestjs-order-timeout-payment-simulator';
import { SystemClock } from '../../../../src/clock';
import { toBeijingTime } from '../../../../src/payments/alipay/alipay-answer';
import { generateAlipayMerchants } from '../../../../packages/payment-simulator/src/alipay';
import { signedAnswer } from '../../../../packages/payment-simulator/src/alipay/alipay-reply';
import { anAttempt } from '../an-attempt';
import { AlipayStand } from './alipay-stand';

const clock = new SystemClock();
const stand = new AlipayStand(clock);
const signal = (): AbortSignal => AbortSignal.timeout(5_000);
let count = 0;
const next = (): string => `ord-${(count += 1)}`;
const attemptOf = (reference: string) =>
  anAttempt({ reference, merchantAccount: 'shop', currency: 'CNY', amount: 8_888n });
const query = (reference: string) => stand.provider().query(attemptOf(reference), signal());
const close = (reference: string) => stand.provider().close(attemptOf(reference), signal());
const refund = (reference: string, fields: { refundNumber: string; amount: bigint }) => {
  const more = { paidAmount: 8_888n, currency: 'CNY', reason: 'order closed' };
  return stand.provider().refund({ attempt: attemptOf(reference), ...fields, ...more }, signal());
};
const now = (): number => clock.now();
const inBeijing = (ms: number): string => toBeijingTime(now() + ms);
const precreate = (reference: string, more = {}, params = {}) =>
  stand.call(
    'alipay.trade.precreate',
    { out_trade_no: reference, total_amount: '88.88', subject: 's', ...more },
    params,
  );
const dueParams = () => ({ timestamp: inBeijing(0) });
beforeAll(() => stand.start());
afterAll(() => stand.stop());
afterEach(() => {
  stand.faults.clear();
  stand.posts.length = 0;
});

describe('the simulated Alipay', () => {
  it('has a trade only after the QR code is scanned, and an earlier close does not prevent payment', async () => {
    const reference = next();
    const params = { ...dueParams(), notify_url: 'https://shop.example.com/payments/alipay/notify' };
    expect(await precreate(reference, {}, params)).toMatchObject({ code: '10000', out_trade_no: reference });
    expect(stand.ledger.find('alipay', reference)?.payment.terms.notify).toMatchObject({ url: params.notify_url });
    expect(await query(reference)).toMatchObject({ type: 'NOT_FOUND' });
    expect(await close(reference)).toMatchObject({ type: 'NOT_FOUND' });
    const payment = stand.ledger.find('alipay', reference)?.payment;
    payment?.scan(now());
    expect(await query(reference)).toMatchObject({ type: 'OPEN' });
    expect(payment?.pay(now())).toBe('accepted');
    expect(await query(reference)).toMatchObject({ type: 'PAID', amount: 8_888n, transactionId: `sim-${reference}` });
  });

  it('refuses the buyer after time_expire, which it reads as Beijing time', async () => {
    const [late, inTime] = [next(), next()];
    await precreate(late, { time_expire: inBeijing(-1_000) }, dueParams());
    await precreate(inTime, { time_expire: inBeijing(60_000) }, dueParams());
    expect(stand.ledger.find('alipay', late)?.payment.pay(now())).toBe('refused');
    expect(stand.ledger.find('alipay', inTime)?.payment.pay(now())).toBe('accepted');
  });

  it('creates a trade once', async () => {
    const reference = next();
    const create = (total_amount: string) =>
      stand.call('alipay.trade.create', { out_trade_no: reference, total_amount }, dueParams());
    expect(await create('88.88')).toMatchObject({ code: '10000', trade_no: `sim-${reference}` });
    expect(await create('88.88')).toMatchObject({ code: '10000' });
    expect(await create('88.89')).toMatchObject({ sub_code: 'ACQ.CONTEXT_INCONSISTENT' });
    expect(await query(reference)).toMatchObject({ type: 'OPEN' });
  });

  it('refunds once for each number, and a full refund closes the trade', async () => {
    const reference = next();
    const payment = stand.create({ reference });
    payment.pay(now());
    expect(await refund(reference, { refundNumber: '1', amount: 888n })).toMatchObject({ type: 'REFUNDED' });
    expect(await refund(reference, { refundNumber: '1', amount: 888n })).toMatchObject({ type: 'REFUNDED' });
    expect(payment.entry(now())).toMatchObject({ status: 'PAID', refundedAmount: '888' });
    expect(await refund(reference, { refundNumber: '2', amount: 8_001n })).toMatchObject({ type: 'REJECTED' });
    expect(await refund(reference, { refundNumber: '1', amount: 8_000n })).toMatchObject({ type: 'UNKNOWN' });
    expect(await refund(reference, { refundNumber: '3', amount: 8_000n })).toMatchObject({ type: 'REFUNDED' });
    expect(await query(reference)).toMatchObject({ type: 'REFUNDED' });
    expect(await close(reference)).toMatchObject({ type: 'ALREADY_CLOSED' });
  });

  it('answers a pending refund, a refused one, and one of an unpaid trade', async () => {
    const [slow, broke, open] = [next(), next(), next()];
    stand.create({ reference: slow, refundProcessingMs: 60_000 }).pay(now());
    stand.create({ reference: broke, rejectRefunds: 1 }).pay(now());
    stand.create({ reference: open });
    const order = { refundNumber: '1', amount: 8_888n };
    expect(await refund(slow, order)).toMatchObject({ type: 'PENDING' });
    expect(await refund(broke, order)).toMatchObject({ type: 'REJECTED' });
    expect(await refund(open, order)).toMatchObject({ type: 'REJECTED' });
    const unscanned = next();
    stand.create({ reference: unscanned, existsFrom: 'scan' });
    const noTrade = { type: 'REJECTED', reason: expect.stringContaining('ACQ.TRADE_NOT_EXIST') as string };
    expect(await refund(unscanned, order)).toMatchObject(noTrade);
    expect(await refund(next(), order)).toMatchObject(noTrade);
  });

  it('cancels as Alipay does, which refunds money, and counts it', async () => {
    const [paid, open] = [next(), next()];
    stand.create({ reference: paid }).pay(now());
    stand.create({ reference: open });
    await close(paid);
    await close(open);
    expect(stand.protocol.cancels).toBe(0);
    const cancel = (reference: string) => stand.call('alipay.trade.cancel', { out_trade_no: reference }, dueParams());
    expect(await cancel(paid)).toMatchObject({ action: 'refund' });
    expect(await query(paid)).toMatchObject({ type: 'REFUNDED' });
    expect(stand.protocol.cancels).toBe(1);
  });

  it('does not show a merchant the trades of another', async () => {
    const reference = next();
    stand.create({ reference, merchantAccount: 'other' }).pay(now());
    expect(await query(reference)).toMatchObject({ type: 'NOT_FOUND' });
    const asOther = { ...attemptOf(reference), merchantAccount: 'other' };
    expect(await stand.provider().query(asOther, signal())).toMatchObject({ type: 'PAID' });
  });

  it('reports the amount that was paid if it differs from the amount of the attempt', async () => {
    const [less, foreign] = [next(), next()];
    stand.create({ reference: less, partialAmount: 1 }).pay(now());
    stand.create({ reference: foreign, paidCurrency: 'USD' }).pay(now());
    expect(await query(less)).toMatchObject({ type: 'PAID', amount: 1n });
    expect(await query(foreign)).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });

  it.each<[FaultInput, Record<string, unknown>]>([
    [{ fault: 'unsigned' }, { type: 'UNKNOWN', untrusted: true }],
    [{ fault: 'wrong-signature' }, { type: 'UNKNOWN', untrusted: true }],
    [{ fault: 'wrong-reference' }, { type: 'UNKNOWN', untrusted: true }],
    [{ fault: 'garbage' }, { type: 'UNKNOWN' }],
    [{ fault: 'unrecognised' }, { type: 'UNKNOWN' }],
    [{ fault: 'rate-limited' }, { type: 'UNKNOWN' }],
    [{ fault: 'not-found' }, { type: 'NOT_FOUND' }],
    [{ fault: 'error' }, { type: 'UNKNOWN', outage: true }],
    [{ fault: 'error-without-body' }, { type: 'UNKNOWN', outage: true }],
    [{ fault: 'drop' }, { type: 'UNKNOWN', outage: true }],
    [{ fault: 'lost-response' }, { type: 'UNKNOWN', outage: true }],
    [{ fault: 'skewed-clock' }, { type: 'PAID' }],
  ])('under the fault %o answers so that a query says %o', async (fault, outcome) => {
    const reference = next();
    stand.create({ reference }).pay(now());
    stand.break(fault);
    expect(await query(reference)).toMatchObject(outcome);
  });

  it('rejects a request in local time, of an unknown app, or with another signature', async () => {
    const reference = next();
    const timestamp = toBeijingTime(now() - 8 * 3_600_000);
    expect(await precreate(reference, {}, { timestamp })).toMatchObject({ sub_code: 'isv.invalid-timestamp' });
    await expect(precreate(reference, {}, { ...dueParams(), appId: '1' })).rejects.toThrow();
    expect(await precreate(reference, {}, { ...dueParams(), sign_type: 'RSA' })).toMatchObject({
      sub_code: 'isv.invalid-signature',
    });
    const unsigned = new URLSearchParams({
      app_id: '2021000000000001',
      method: 'alipay.trade.query',
      sign_type: 'RSA2',
      sign: 'x',
    });
    const response = await fetch(stand.gateway, { method: 'POST', body: unsigned });
    expect(await response.text()).toContain('isv.invalid-signature');
    expect(await stand.call('alipay.trade.pay', {}, dueParams())).toMatchObject({ sub_code: 'isv.invalid-method' });
    expect(stand.ledger.find('alipay', reference)).toBeUndefined();
  });
});

it('signs the raw text of an answer, in which every slash is escaped', () => {
  const [merchant] = Object.values(generateAlipayMerchants());
  if (!merchant) throw new Error('no keys');
  const reply = signedAnswer(merchant, 'alipay.trade.precreate', { qr_code: 'https://qr.alipay.com/1' }, undefined);
  const [, raw = '', sign = ''] =
    /^\{"alipay_trade_precreate_response":(.*),"sign":"([^"]+)"\}$/.exec(reply.type === 'answer' ? reply.body : '') ??
    [];
  expect(raw).toBe('{"qr_code":"https:\\/\\/qr.alipay.com\\/1"}');
  expect(createVerify('sha256').update(raw).verify(merchant.alipayPublicKey, sign, 'base64')).toBe(true);
});

describe('the notifications of the simulated Alipay', () => {
  const readLast = () =>
    stand.provider().notifications.read({ headers: {}, rawBody: Buffer.from(stand.posts.at(-1)?.body ?? '') });

  it('report a payment, refunds, and a close in a way that the adapter understands', async () => {
    const [paid, closed] = [next(), next()];
    stand.create({ reference: paid }).pay(now());
    expect(await readLast()).toMatchObject({ type: 'PAID', reference: paid, merchantAccount: 'shop', amount: 8_888n });
    await refund(paid, { refundNumber: '1', amount: 888n });
    expect(await readLast()).toMatchObject({
      type: 'STATUS_CHANGED',
      reference: paid,
      evidence: { trade_status: 'TRADE_SUCCESS' },
    });
    await refund(paid, { refundNumber: '2', amount: 8_000n });
    expect(await readLast()).toMatchObject({
      type: 'STATUS_CHANGED',
      evidence: { trade_status: 'TRADE_CLOSED', refund_fee: '88.88' },
    });
    stand.create({ reference: closed });
    await close(closed);
    expect(await readLast()).toMatchObject({
      type: 'STATUS_CHANGED',
      reference: closed,
      evidence: { trade_status: 'TRADE_CLOSED' },
    });
    expect(stand.posts).toHaveLength(4);
  });

  it('are repeated for 25 hours until the answer is exactly "success"', () => {
    const hours = stand.protocol.retryDelaysMs.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
    expect(hours).toBeCloseTo(24.4);
    const { notifications } = stand.provider();
    const answers = (['accepted', 'later', 'rejected'] as const).map((verdict) => notifications.reply(verdict));
    expect(answers.map(({ status, body }) => stand.protocol.isAcknowledged(status, body))).toEqual([
      true,
      false,
      false,
    ]);
    expect(stand.protocol.isAcknowledged(200, 'success\n')).toBe(false);
  });

  it('are not sent if the merchant is unknown', () => {
    stand.create({ reference: next(), merchantAccount: 'gone' }).pay(now());
    expect(stand.posts).toEqual([]);
  });
});

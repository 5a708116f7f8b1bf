import { createVerify } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PaymentAttemptRef } from '../../../../src/payments';
import { anAttempt } from '../an-attempt';
import { ManualClock } from '../../../support/manual-clock';
import { alipayPrivateKey, FakeGateway, merchant, publicKey, type SeenRequest, signedBody } from './fake-gateway';

const OK = { code: '10000', msg: 'Success' };
const PAID = {
  ...OK,
  trade_no: '2026010122001',
  trade_status: 'TRADE_SUCCESS',
  total_amount: '88.88',
  send_pay_date: '2026-01-01 07:59:30',
};
const refusal = (sub_code: string, code = '40004') => ({ code, msg: 'Business Failed', sub_code, sub_msg: '说明' });
const attempt = (fields: Partial<PaymentAttemptRef> = {}) => anAttempt({ currency: 'CNY', amount: 8_888n, ...fields });
const refundOf = (fields = {}) => ({
  attempt: attempt(),
  refundNumber: 'a'.repeat(32),
  amount: 8_888n,
  paidAmount: 8_888n,
  currency: 'CNY',
  reason: 'order closed',
  ...fields,
});

const clock = new ManualClock();
const gateway = new FakeGateway();
const signal = (): AbortSignal => new AbortController().signal;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.requests.length = 0;
  gateway.answers = [];
});
const query = (fields?: Partial<PaymentAttemptRef>) => gateway.provider(clock).query(attempt(fields), signal());
const close = () => gateway.provider(clock).close(attempt(), signal());
const refund = (fields = {}) => gateway.provider(clock).refund(refundOf(fields), signal());
const methods = () => gateway.requests.map(({ method }) => method.replace('alipay.trade.', ''));

describe('a request to Alipay', () => {
  it('has an RSA2 signature over all its parameters, and Beijing time', async () => {
    gateway.willSay({ ...OK, trade_status: 'WAIT_BUYER_PAY' });
    await query();
    const [request] = gateway.requests as [SeenRequest];
    const { sign = '', ...signed } = request.params;
    const text = Object.keys(signed)
      .sort()
      .map((name) => `${name}=${signed[name] ?? ''}`)
      .join('&');
    expect(createVerify('sha256').update(text).verify(publicKey, sign, 'base64')).toBe(true);
    expect(signed).toMatchObject({ app_id: merchant.appId, method: 'alipay.trade.query', sign_type: 'RSA2' });
    // The clock stands at 2026-01-01T00:00:00Z.
    expect(signed['timestamp']).toBe('2026-01-01 08:00:00');
    expect(request.content).toEqual({ out_trade_no: 'ord-1' });
  });

  it('is not made for an account that is not configured', async () => {
    const outcome = await query({ merchantAccount: 'other' });
    expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringContaining('"other"') as string });
    expect(gateway.requests).toEqual([]);
  });

  it('is not made for a reference that is too long for Alipay', async () => {
    expect(await query({ reference: 'x'.repeat(65) })).toMatchObject({ type: 'UNKNOWN' });
    expect(gateway.requests).toEqual([]);
  });

  it('is not made if the caller has given up', async () => {
    expect(await gateway.provider(clock).query(attempt(), AbortSignal.abort())).toMatchObject({ type: 'UNKNOWN' });
    expect(gateway.requests).toEqual([]);
  });
});

describe('a query', () => {
  it('reports what was paid', async () => {
    gateway.willSay({ ...PAID, buyer_logon_id: '159****5620' });
    expect(await query()).toEqual({
      type: 'PAID',
      amount: 8_888n,
      currency: 'CNY',
      paidAt: new Date('2025-12-31T23:59:30Z'),
      transactionId: '2026010122001',
      evidence: {
        ...{ method: 'alipay.trade.query', code: '10000', out_trade_no: 'ord-1', trade_no: '2026010122001' },
        ...{ trade_status: 'TRADE_SUCCESS', total_amount: '88.88', send_pay_date: '2026-01-01 07:59:30' },
      },
    });
  });

  it('reports the amount that was taken, not the amount of the attempt', async () => {
    gateway.willSay({ ...PAID, total_amount: '0.01' });
    expect(await query()).toMatchObject({ type: 'PAID', amount: 1n });
  });

  it('counts a payment without a date', async () => {
    gateway.willSay({ ...PAID, send_pay_date: undefined });
    expect(await query()).toMatchObject({ type: 'PAID', paidAt: new Date(clock.now()) });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['WAIT_BUYER_PAY', { ...OK, trade_status: 'WAIT_BUYER_PAY', receipt_amount: '0.00' }, 'OPEN'],
    ['TRADE_SUCCESS', PAID, 'PAID'],
    ['TRADE_FINISHED', { ...PAID, trade_status: 'TRADE_FINISHED' }, 'PAID'],
    ['TRADE_CLOSED without a payment', { ...OK, trade_status: 'TRADE_CLOSED', total_amount: '88.88' }, 'CLOSED'],
    ['TRADE_CLOSED with zero paid', { ...OK, trade_status: 'TRADE_CLOSED', receipt_amount: '0.00' }, 'CLOSED'],
    ['TRADE_CLOSED after a payment', { ...PAID, trade_status: 'TRADE_CLOSED' }, 'REFUNDED'],
    ['TRADE_CLOSED with money paid', { ...OK, trade_status: 'TRADE_CLOSED', buyer_pay_amount: '0.01' }, 'REFUNDED'],
    ['ACQ.TRADE_NOT_EXIST', refusal('ACQ.TRADE_NOT_EXIST'), 'NOT_FOUND'],
    ['an unknown status', { ...OK, trade_status: 'TRADE_PENDING' }, 'UNKNOWN'],
    ['no status', OK, 'UNKNOWN'],
    ['ACQ.SYSTEM_ERROR', refusal('ACQ.SYSTEM_ERROR'), 'UNKNOWN'],
    ['isp.unknow-error', refusal('isp.unknow-error', '20000'), 'UNKNOWN'],
    ['20001', refusal('aop.invalid-auth-token', '20001'), 'UNKNOWN'],
    ['40002', refusal('isv.invalid-signature', '40002'), 'UNKNOWN'],
    ['40005', refusal('isv.app-call-limited', '40005'), 'UNKNOWN'],
    ['a missing trade with another code', refusal('ACQ.TRADE_NOT_EXIST', '20000'), 'UNKNOWN'],
    ['an unknown refusal', refusal('ACQ.SOMETHING_NEW'), 'UNKNOWN'],
    ['a code that is not a string', { code: 10_000, trade_status: 'TRADE_CLOSED' }, 'UNKNOWN'],
    ['a payment without a transaction id', { ...PAID, trade_no: undefined }, 'UNKNOWN'],
    ['a payment of zero', { ...PAID, total_amount: '0.00' }, 'UNKNOWN'],
    ['a payment of "88.888"', { ...PAID, total_amount: '88.888' }, 'UNKNOWN'],
    ['a payment with a JSON number', { ...PAID, total_amount: 88.88 }, 'UNKNOWN'],
    ['a payment with an invalid time', { ...PAID, send_pay_date: 'yesterday' }, 'UNKNOWN'],
  ])('maps %s', async (_, body, type) => {
    gateway.willSay(body);
    const outcome = await query();
    expect(outcome.type).toBe(type);
    // Only code 20000 says that Alipay as a whole is down, and nothing here is a forgery.
    expect({ outage: false, ...outcome }).toMatchObject({ outage: body['code'] === '20000' });
    expect(outcome).not.toHaveProperty('untrusted');
  });

  it.each<[string, Record<string, unknown>]>([
    ['another trade', { ...PAID, out_trade_no: 'ord-2' }],
    ['no trade', { ...PAID, out_trade_no: undefined }],
    ['another merchant', { ...PAID, seller_id: '2088999999999999' }],
    ['another currency', { ...PAID, trans_currency: 'USD' }],
    ['a refusal about another trade', { ...refusal('ACQ.TRADE_NOT_EXIST'), out_trade_no: 'ord-2' }],
  ])('does not trust a signed answer about %s', async (_, body) => {
    gateway.willSay(body);
    expect(await query()).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });

  it('does not trust a payment in yuan for an attempt in another currency', async () => {
    gateway.willSay(PAID, { ...PAID, trans_currency: 'JPY' });
    expect(await query({ currency: 'EUR' })).toMatchObject({ type: 'UNKNOWN', untrusted: true });
    // Not even where both agree: an amount in yen has no decimals.
    expect(await query({ currency: 'JPY' })).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });

  it('accepts a refusal that names no trade', async () => {
    gateway.willSay({ ...refusal('ACQ.TRADE_NOT_EXIST'), out_trade_no: undefined });
    expect(await query()).toMatchObject({ type: 'NOT_FOUND' });
  });
});

describe('an answer', () => {
  const genuine = signedBody('alipay.trade.query', { ...OK, out_trade_no: 'ord-1', trade_status: 'WAIT_BUYER_PAY' });
  const forged = JSON.stringify({ ...PAID, out_trade_no: 'ord-1' });

  it.each<[string, string]>([
    ['without a signature', genuine.replace(/,"sign".*/, '}')],
    ['with an empty signature', genuine.replace(/"sign":"[^"]*"/, '"sign":""')],
    ['with a signature that is a number', genuine.replace(/"sign":"[^"]*"/, '"sign":1')],
    ['that was changed after it was signed', genuine.replace('WAIT_BUYER_PAY', 'TRADE_CLOSED')],
    ['with another answer behind the signed one', genuine.replace(/}$/, `,"alipay_trade_query_response":${forged}}`)],
    [
      'with another answer before the signed one',
      genuine.replace(/^{"/, `{"alipay_trade_query_response":${forged},"`).replace(/}$/, ',"x":1}'),
    ],
    [
      'with the signed one under another name',
      `${genuine.replace('{"', '{"x_').slice(0, -1)},"alipay_trade_query_response":${forged}}`,
    ],
    ['that is an unsigned error', '{"error_response":{"code":"40002","sub_code":"isv.invalid-app-id"}}'],
  ])('%s is not trusted', async (_, body) => {
    gateway.answers = [() => body];
    expect(await query()).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });

  it('of a gateway that does not know the app tells the operator so', async () => {
    gateway.answers = [() => '{"error_response":{"code":"40002","sub_code":"isv.invalid-app-id"}}'];
    expect(await query()).toMatchObject({ reason: expect.stringContaining('40002 isv.invalid-app-id') as string });
  });

  it('with a wrong signature adds no data about the buyer to the reason', async () => {
    gateway.answers = [() => genuine.replace('WAIT_BUYER_PAY', 'buyer_secret')];
    expect(JSON.stringify(await query())).not.toContain('buyer_secret');
  });

  it.each<[string, number, boolean]>([
    ['a server error', 503, true],
    ['a rate limit', 429, false],
    ['a refusal by HTTP status', 403, false],
  ])('that is %s is UNKNOWN', async (_, status, isOutage) => {
    gateway.answers = [() => (response) => response.writeHead(status).end(genuine)];
    const outcome = await query();
    expect({ outage: false, ...outcome }).toMatchObject({ type: 'UNKNOWN', outage: isOutage });
  });

  it('that is not JSON is UNKNOWN', async () => {
    gateway.answers = [() => '<html>Bad gateway</html>'];
    const outcome = await query();
    expect(outcome.type).toBe('UNKNOWN');
    expect(outcome).not.toHaveProperty('outage');
  });

  it('that never comes is an outage after the time-out', async () => {
    let arrived = (): void => undefined;
    const request = new Promise<void>((resolve) => (arrived = resolve));
    gateway.answers = [() => () => arrived()];
    const outcome = query();
    await request;
    await clock.pass(8_000);
    expect(await outcome).toMatchObject({ type: 'UNKNOWN', outage: true });
  });

  it('on a connection that is cut is an outage', async () => {
    const cut = () => (response: { destroy(): void }) => response.destroy();
    gateway.answers = [cut, cut, cut, cut];
    expect(await query()).toMatchObject({ type: 'UNKNOWN', outage: true });
  });

  it('that the caller no longer waits for is UNKNOWN and not an outage', async () => {
    const caller = new AbortController();
    gateway.answers = [() => () => caller.abort()];
    const outcome = await gateway.provider(clock).query(attempt(), caller.signal);
    expect(outcome).toEqual({ type: 'UNKNOWN', reason: expect.any(String) as string });
  });
});

describe('a close', () => {
  const STATUS_ERROR = refusal('ACQ.TRADE_STATUS_ERROR');

  it.each<[string, Record<string, unknown>, string]>([
    ['10000', OK, 'CLOSED'],
    ['ACQ.TRADE_NOT_EXIST', refusal('ACQ.TRADE_NOT_EXIST'), 'NOT_FOUND'],
    ['ACQ.SYSTEM_ERROR', refusal('ACQ.SYSTEM_ERROR'), 'UNKNOWN'],
    ['ACQ.INVALID_PARAMETER', refusal('ACQ.INVALID_PARAMETER'), 'UNKNOWN'],
    ['20000', refusal('isp.unknow-error', '20000'), 'UNKNOWN'],
    ['a status error with another code', refusal('ACQ.TRADE_STATUS_ERROR', '20000'), 'UNKNOWN'],
  ])('maps %s, without a query', async (_, body, type) => {
    gateway.willSay(body);
    expect(await close()).toMatchObject({ type });
    expect(methods()).toEqual(['close']);
  });

  it.each(['ACQ.TRADE_STATUS_ERROR', 'ACQ.REASON_TRADE_STATUS_INVALID', 'ACQ.REASON_ILLEGAL_STATUS'])(
    'queries after %s, and never cancels',
    async (subCode) => {
      gateway.willSay(refusal(subCode), PAID);
      expect(await close()).toMatchObject({ type: 'PAID', evidence: { trade_status: 'TRADE_SUCCESS' } });
      expect(methods()).toEqual(['close', 'query']);
    },
  );

  it.each<[string, Record<string, unknown>, string]>([
    ['closed', { ...OK, trade_status: 'TRADE_CLOSED' }, 'ALREADY_CLOSED'],
    ['refunded', { ...PAID, trade_status: 'TRADE_CLOSED' }, 'ALREADY_CLOSED'],
    ['open, which contradicts it,', { ...OK, trade_status: 'WAIT_BUYER_PAY' }, 'UNKNOWN'],
    ['unknown, which contradicts it,', refusal('ACQ.TRADE_NOT_EXIST'), 'UNKNOWN'],
    ['down', refusal('isp.unknow-error', '20000'), 'UNKNOWN'],
  ])('that is refused because the trade is %s', async (_, body, type) => {
    gateway.willSay(STATUS_ERROR, body);
    expect(await close()).toMatchObject({ type });
  });

  it('that is refused is UNKNOWN if the query after it is forged', async () => {
    gateway.willSay(STATUS_ERROR);
    gateway.answers.push(() => signedBody('alipay.trade.query', PAID).replace('88.88', '99.99'));
    expect(await close()).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });
});

describe('a refund', () => {
  it('names the trade by its number if that is known', async () => {
    const trade = { trade_no: '2026010122001' };
    gateway.willSay({ ...OK, ...trade, fund_change: 'N' }, { ...DONE, ...trade });
    expect(await refund({ transactionId: '2026010122001' })).toMatchObject({ type: 'REFUNDED' });
    expect(gateway.requests.map(({ content }) => [content['trade_no'], content['out_trade_no']])).toEqual([
      ['2026010122001', undefined],
      ['2026010122001', undefined],
    ]);
  });

  it('is not trusted if the answer is about another trade', async () => {
    gateway.willSay({ ...OK, trade_no: '2026010122002', fund_change: 'Y' });
    expect(await refund({ transactionId: '2026010122001' })).toMatchObject({ type: 'UNKNOWN' });
  });

  const DONE = { ...OK, refund_status: 'REFUND_SUCCESS', out_request_no: 'a'.repeat(32), refund_amount: '88.88' };

  it('requests exactly the amount with our number', async () => {
    gateway.willSay({ ...OK, fund_change: 'Y' });
    expect(await refund({ amount: 5n })).toMatchObject({ type: 'REFUNDED', refundId: 'a'.repeat(32) });
    expect(gateway.requests.map(({ content }) => content)).toEqual([
      { out_trade_no: 'ord-1', out_request_no: 'a'.repeat(32), refund_amount: '0.05', refund_reason: 'order closed' },
    ]);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['moved no money, but is done', { ...OK, fund_change: 'N' }, DONE, 'REFUNDED'],
    ['moved no money, and is not done', { ...OK, fund_change: 'N' }, OK, 'PENDING'],
    ['does not say, and is pending', OK, { ...OK, refund_status: 'REFUND_PROCESSING' }, 'PENDING'],
    ['failed for now', OK, { ...OK, refund_status: 'REFUND_FAIL' }, 'PENDING'],
    ['has an unknown status', OK, { ...OK, refund_status: 'REFUND_MAYBE' }, 'UNKNOWN'],
    ['is refused, and is not done', refusal('ACQ.SELLER_BALANCE_NOT_ENOUGH'), OK, 'REJECTED'],
    ['is refused, but is done', refusal('ACQ.TRADE_STATUS_ERROR'), DONE, 'REFUNDED'],
    [
      'is refused, and has an unknown status',
      refusal('ACQ.TRADE_STATUS_ERROR'),
      { ...OK, refund_status: 'X' },
      'UNKNOWN',
    ],
    ['names no trade', refusal('ACQ.TRADE_NOT_EXIST'), refusal('ACQ.TRADE_NOT_EXIST'), 'REJECTED'],
    ['is refused, and cannot be queried', refusal('ACQ.TRADE_STATUS_ERROR'), refusal('isp.x', '20000'), 'UNKNOWN'],
    ['is another refund', OK, { ...DONE, out_request_no: 'b' }, 'UNKNOWN'],
    ['has another amount', OK, { ...DONE, refund_amount: '88.87' }, 'UNKNOWN'],
  ])('that %s is confirmed by a query', async (_, first, second, type) => {
    gateway.willSay(first, second);
    expect(await refund()).toMatchObject({ type });
    expect(methods()).toEqual(['refund', 'fastpay.refund.query']);
  });

  it.each<[string, Record<string, unknown>]>([
    ['ACQ.SYSTEM_ERROR', refusal('ACQ.SYSTEM_ERROR')],
    ['20000', refusal('isp.unknow-error', '20000')],
    ['an unknown code', refusal('ACQ.SOMETHING_NEW')],
    ['a final refusal with another code', refusal('ACQ.SELLER_BALANCE_NOT_ENOUGH', '20000')],
    ['another trade', { ...OK, out_trade_no: 'ord-2', fund_change: 'Y' }],
  ])('that is answered with %s is UNKNOWN', async (_, body) => {
    gateway.willSay(body);
    expect(await refund()).toMatchObject({ type: 'UNKNOWN' });
    expect(methods()).toEqual(['refund']);
  });

  it.each([{ currency: 'USD' }, { amount: 0n }, { amount: -1n }])('of %o is not requested', async (fields) => {
    expect(await refund(fields)).toMatchObject({ type: 'UNKNOWN' });
    expect(gateway.requests).toEqual([]);
  });

  it('names the reason of a refusal', async () => {
    gateway.willSay(refusal('ACQ.SELLER_BALANCE_NOT_ENOUGH'), OK);
    expect(await refund()).toMatchObject({ reason: expect.stringContaining('SELLER_BALANCE_NOT_ENOUGH') as string });
  });
});

it('returns no key in its outcomes', async () => {
  gateway.willSay(PAID);
  expect(
    Object.values(await query())
      .map(String)
      .join(),
  ).not.toContain(alipayPrivateKey.slice(40, 80));
});

it('does not contain the cancel method, which refunds a paid trade', () => {
  const directory = join(__dirname, '../../../../src/payments/alipay');
  const sources = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'));
  expect(sources.length).toBeGreaterThan(4);
  expect(sources.filter((source) => /trade\W{0,3}cancel/i.test(source))).toEqual([]);
});

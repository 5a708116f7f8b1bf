import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Decorator } from 'wechatpay-axios-plugin';
import { SystemClock } from '../../../../src/clock';
import { type UnknownOutcome } from '../../../../src/payments';
import { WechatPayProvider } from '../../../../src/payments/wechat-pay';
import { type FaultInput } from '../../../../packages/payment-simulator/src/simulator-input';
import { refundOf, WechatPayBench } from './wechat-pay-bench';

const signal = (): AbortSignal => AbortSignal.timeout(10_000);

describe('WechatPayProvider against the simulated WeChat Pay', () => {
  let bench: WechatPayBench;
  let provider: WechatPayProvider;

  beforeAll(async () => {
    bench = await new WechatPayBench().open();
    provider = bench.provider();
  });
  afterAll(() => bench.close());
  beforeEach(() => {
    bench.faults.clear();
    bench.protocol.signWith(undefined);
    bench.requests.length = 0;
  });

  describe('query', () => {
    it('returns the amount that was paid, not the amount of the attempt', async () => {
      const attempt = bench.paid({ partialAmount: 500 });
      expect(await provider.query(attempt, signal())).toMatchObject({
        type: 'PAID',
        amount: 500n,
        currency: 'CNY',
        transactionId: `sim-${attempt.reference}`,
        evidence: { trade_state: 'SUCCESS', amount: { payer_total: 500 } },
      });
    });

    it('keeps no data about the payer in the evidence', async () => {
      expect(JSON.stringify(await provider.query(bench.paid(), signal()), digits)).not.toContain('openid');
    });

    it('does not trust a payment in another currency', async () => {
      const attempt = bench.paid({ paidCurrency: 'HKD' });
      expect(await provider.query(attempt, signal())).toMatchObject({ type: 'UNKNOWN', untrusted: true });
    });

    it('returns the time by the provider’s clock with NOT_FOUND', async () => {
      const outcome = await provider.query({ ...bench.attempt(), reference: 'no-such-order' }, signal());
      expect(outcome).toMatchObject({ type: 'NOT_FOUND', evidence: { verified: true } });
      const { providerNow } = outcome as { providerNow: Date };
      expect(Math.abs(providerNow.getTime() - Date.now())).toBeLessThan(5_000);
    });

    it('is PROCESSING while the buyer pays', async () => {
      const attempt = bench.attempt({ script: { buyer: 'pays-after', ms: 0, processingMs: 60_000 } });
      expect(await provider.query(attempt, signal())).toMatchObject({ type: 'PROCESSING' });
    });

    it('needs a person for a payment that was refunded in part or in full', async () => {
      const attempt = bench.paid();
      bench.payment(attempt).refund(Date.now(), { number: 'after-sales', amount: 1n });
      const expected = { type: 'UNKNOWN', needsPerson: true, evidence: { trade_state: 'REFUND' } };
      expect(await provider.query(attempt, signal())).toMatchObject(expected);
      bench.payment(attempt).refundDirectly(Date.now());
      expect(await provider.query(attempt, signal())).toMatchObject(expected);
    });

    it.each(['abc', 'x'.repeat(33), 'with space', '订单一二三四五', 'a/../b-c', 'a?b=c&d'])(
      'makes no request for %j, which cannot be an out_trade_no',
      async (reference) => {
        for (const outcome of [
          await provider.query({ ...bench.attempt(), reference }, signal()),
          await provider.close({ ...bench.attempt(), reference }, signal()),
          await provider.refund(refundOf({ ...bench.attempt(), reference }), signal()),
        ]) {
          expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringContaining('out_trade_no') as string });
        }
        expect(bench.requests).toEqual([]);
      },
    );

    it('accepts every character that an out_trade_no may have', async () => {
      const attempt = bench.paid({ reference: 'A-z_0|9*' });
      expect(await provider.query(attempt, signal())).toMatchObject({ type: 'PAID' });
    });

    it('makes no request for a merchant account that is not configured', async () => {
      const outcome = await provider.query({ ...bench.attempt(), merchantAccount: 'other' }, signal());
      expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringContaining('"other"') as string });
      expect(bench.requests).toEqual([]);
    });

    it('signs with the keys of the attempt’s merchant', async () => {
      const merchants = { shop: bench.shop, other: bench.optionsOf('other') };
      const both = new WechatPayProvider({ merchants, baseUrl: bench.baseUrl }, new SystemClock());
      const attempt = bench.paid({ merchantAccount: 'other' });
      expect(await both.query({ ...attempt, merchantAccount: 'other' }, signal())).toMatchObject({ type: 'PAID' });
      expect(await both.query({ ...attempt, merchantAccount: 'shop' }, signal())).toMatchObject({ type: 'NOT_FOUND' });
    });
  });

  describe('close', () => {
    it('is IN_PROGRESS while the buyer pays, for USERPAYING and for FREQUENCY_LIMITED', async () => {
      const attempt = bench.attempt({ script: { buyer: 'pays-after', ms: 0, processingMs: 60_000 } });
      const first = await provider.close(attempt, signal());
      const second = await provider.close(attempt, signal());
      expect(first).toMatchObject({ type: 'IN_PROGRESS', evidence: { code: 'USERPAYING' } });
      expect(second).toMatchObject({ type: 'IN_PROGRESS', evidence: { code: 'FREQUENCYLIMITED' } });
    });

    it('is ALREADY_CLOSED only if a verified query agrees', async () => {
      const attempt = bench.attempt();
      await provider.close(attempt, signal());
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'ALREADY_CLOSED' });
      bench.fault({ fault: 'unsigned', on: 'query' });
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'UNKNOWN', untrusted: true });
    });

    it('trusts the query and not the unsigned error', async () => {
      const attempt = bench.paid();
      bench.fault({ fault: 'unsigned', on: 'close' });
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'PAID' });
    });

    it('is CLOSED after a 204 although the state lags, because the engine queries once more', async () => {
      const attempt = bench.attempt({ closeLagMs: 60_000 });
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'CLOSED' });
      expect(await provider.query(attempt, signal())).toMatchObject({ type: 'OPEN' });
    });

    it('refunds nothing and does not change a payment', async () => {
      const attempt = bench.paid();
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'PAID' });
      expect(bench.payment(attempt).entry(Date.now())).toMatchObject({ status: 'PAID', refunds: [] });
    });
  });

  describe('does not trust', () => {
    it.each<[string, FaultInput, string]>([
      ['an unsigned answer', { fault: 'unsigned' }, 'not signed'],
      ['a wrong signature', { fault: 'wrong-signature' }, 'signature is wrong'],
      ['an old answer', { fault: 'skewed-clock', seconds: -301 }, 'NTP'],
      ['an answer from the future', { fault: 'skewed-clock', seconds: 302 }, 'NTP'],
    ])('%s, for all calls', async (_, fault, reason) => {
      const attempts = [bench.attempt(), bench.paid(), { ...bench.attempt(), reference: 'no-such-order' }];
      bench.fault(fault);
      for (const attempt of attempts) {
        const expected = { type: 'UNKNOWN', untrusted: true, reason: expect.stringContaining(reason) as string };
        expect(await provider.query(attempt, signal())).toMatchObject(expected);
        expect(await provider.close(attempt, signal())).toMatchObject(expected);
        expect(await provider.refund(refundOf(attempt), signal())).toMatchObject(expected);
      }
    });

    it('the answer to another request', async () => {
      const attempt = bench.paid();
      bench.fault({ fault: 'wrong-reference' });
      expect(await provider.query(attempt, signal())).toMatchObject({ type: 'UNKNOWN', untrusted: true });
      expect(await provider.refund(refundOf(attempt), signal())).toMatchObject({ type: 'UNKNOWN', untrusted: true });
    });

    it('the answer about another app of the merchant', async () => {
      const strict = bench.provider({ appid: 'wx-another-app' });
      expect(await strict.query(bench.paid(), signal())).toMatchObject({
        type: 'UNKNOWN',
        untrusted: true,
        reason: expect.stringContaining('appid') as string,
      });
    });
  });

  describe('is UNKNOWN after', () => {
    it.each<[string, FaultInput, Partial<UnknownOutcome>]>([
      ['an error page of a proxy', { fault: 'garbage' }, {}],
      ['an unknown state', { fault: 'unrecognised' }, {}],
      ['a server error', { fault: 'error', status: 503, retryAfterSeconds: 7 }, { outage: true, retryAfterMs: 7_000 }],
      ['a server error without a body', { fault: 'error-without-body' }, { outage: true }],
      ['a cut connection', { fault: 'drop' }, { outage: true }],
    ])('%s', async (_, fault, expected) => {
      const attempt = bench.paid();
      bench.fault(fault);
      const refund = refundOf(attempt);
      expect(await provider.query(attempt, signal())).toMatchObject({ type: 'UNKNOWN', ...expected });
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'UNKNOWN', ...expected });
      expect(await provider.refund(refund, signal())).toMatchObject({ type: 'UNKNOWN', ...expected });
    });

    it('a rate limit, which is not an outage; on a close the buyer may be paying', async () => {
      const attempt = bench.attempt();
      bench.fault({ fault: 'rate-limited' });
      const outcome = await provider.query(attempt, signal());
      expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringContaining('429') as string });
      expect(outcome).not.toHaveProperty('outage');
      expect(await provider.close(attempt, signal())).toMatchObject({ type: 'IN_PROGRESS' });
    });

    it('a rejection of its signature, with what to check', async () => {
      const stranger = bench.provider({ serialNo: 'ABCDEF0123456789' });
      const outcome = await stranger.query(bench.paid(), signal());
      expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringContaining('serialNo') as string });
      expect(outcome).not.toHaveProperty('untrusted');
    });

    it('a redirect, which is not followed', async () => {
      const other = await redirectTo(`${bench.baseUrl}`);
      const moved = new WechatPayProvider({ merchants: { shop: bench.shop }, baseUrl: other.url }, new SystemClock());
      expect(await moved.query(bench.paid(), signal())).toMatchObject({ type: 'UNKNOWN' });
      expect(bench.requests).toEqual([]);
      other.server.close();
    });
  });

  describe('platform keys', () => {
    it('names its public key in every request, so that WeChat Pay signs with that key', async () => {
      await provider.query(bench.attempt(), signal());
      expect(bench.requests[0]?.headers['wechatpay-serial']).toBe(bench.serials[0]);
    });

    it('accepts any of several keys', async () => {
      const certificate = bench.merchants['shop']?.platform[1];
      const platformKeys = { ...bench.shop.platformKeys, [certificate?.serial ?? '']: certificate?.certificate ?? '' };
      const changing = bench.provider({ platformKeys });
      for (const serial of bench.serials) {
        bench.protocol.signWith(serial);
        expect(await changing.query(bench.paid(), signal())).toMatchObject({ type: 'PAID' });
      }
    });

    it('does not trust an answer that is signed with an unknown key', async () => {
      bench.protocol.signWith(bench.serials[1]);
      const outcome = await provider.query(bench.paid(), signal());
      expect(outcome).toMatchObject({ type: 'UNKNOWN', untrusted: true });
      expect(bench.requests).toHaveLength(1);
    });

    it('downloads the certificate of an unknown serial once, if that is enabled', async () => {
      bench.protocol.signWith(bench.serials[1]);
      const learning = bench.provider({ downloadPlatformCertificates: true });
      const attempt = bench.paid();
      const outcomes = await Promise.all([1, 2, 3].map(() => learning.query(attempt, signal())));
      expect(outcomes).toMatchObject([{ type: 'PAID' }, { type: 'PAID' }, { type: 'PAID' }]);
      expect(await learning.query(attempt, signal())).toMatchObject({ type: 'PAID' });
      expect(bench.requests.filter(({ line }) => line.endsWith('/v3/certificates'))).toHaveLength(1);
    });

    it('ignores a list that is encrypted with another APIv3 key', async () => {
      bench.protocol.signWith(bench.serials[1]);
      const learning = bench.provider({ downloadPlatformCertificates: true, apiV3Key: 'x'.repeat(32) });
      const attempt = bench.paid();
      expect(await learning.query(attempt, signal())).toMatchObject({ type: 'UNKNOWN', untrusted: true });
      expect(await learning.query(attempt, signal())).toMatchObject({ type: 'UNKNOWN', untrusted: true });
      expect(bench.requests.filter(({ line }) => line.endsWith('/v3/certificates'))).toHaveLength(1);
    });
  });

  describe('refund', () => {
    it('refunds the money once, however often it is called', async () => {
      const attempt = bench.paid();
      const refund = refundOf(attempt);
      const first = await provider.refund(refund, signal());
      expect(first).toMatchObject({ type: 'REFUNDED', refundId: `sim-refund-${refund.refundNumber}` });
      expect(await provider.refund(refund, signal())).toEqual(first);
      expect(bench.payment(attempt).entry(Date.now())).toMatchObject({ refundedAmount: '1999', refunds: [{}] });
    });

    it('names the payment by its transaction id if that is known, whatever the reference', async () => {
      const attempt = bench.paid({ reference: 'named-by-id' });
      const transactionId = 'sim-named-by-id';
      const unknown = refundOf(attempt, { transactionId: 'sim-another' });
      expect(await provider.refund(unknown, signal())).toMatchObject({ type: 'REJECTED' });
      const second = refundOf({ ...attempt, reference: transactionId }, { transactionId });
      expect(await provider.refund(second, signal())).toMatchObject({ type: 'REFUNDED' });
    });

    it('makes a partial refund', async () => {
      const attempt = bench.paid();
      expect(await provider.refund(refundOf(attempt, { amount: 7n }), signal())).toMatchObject({ type: 'REFUNDED' });
      expect(bench.payment(attempt).entry(Date.now())).toMatchObject({ refundedAmount: '7', status: 'PAID' });
    });

    it('is PENDING while WeChat Pay works on it', async () => {
      const refund = refundOf(bench.paid({ refundProcessingMs: 60_000 }));
      expect(await provider.refund(refund, signal())).toMatchObject({ type: 'PENDING' });
      expect(await provider.refund(refund, signal())).toMatchObject({ type: 'PENDING' });
    });

    it('finds the refund of a call whose answer was lost', async () => {
      const attempt = bench.paid();
      const refund = refundOf(attempt);
      bench.fault({ fault: 'lost-response', on: 'refund', times: 1 });
      expect(await provider.refund(refund, signal())).toMatchObject({ type: 'UNKNOWN', outage: true });
      expect(await provider.refund(refund, signal())).toMatchObject({ type: 'REFUNDED' });
      expect(bench.payment(attempt).entry(Date.now())).toMatchObject({ refundedAmount: '1999' });
    });

    it('is REJECTED if the balance of the merchant is too low, and works with the same number later', async () => {
      const refund = refundOf(bench.paid({ rejectRefunds: 1 }));
      expect(await provider.refund(refund, signal())).toMatchObject({
        type: 'REJECTED',
        reason: expect.stringContaining('NOTENOUGH') as string,
      });
      expect(await provider.refund(refund, signal())).toMatchObject({ type: 'REFUNDED' });
    });

    it('is REJECTED for an unpaid payment, and for more than is left', async () => {
      expect(await provider.refund(refundOf(bench.attempt()), signal())).toMatchObject({ type: 'REJECTED' });
      const attempt = bench.paid();
      await provider.refund(refundOf(attempt, { amount: 1_000n }), signal());
      expect(await provider.refund(refundOf(attempt), signal())).toMatchObject({ type: 'REJECTED' });
    });

    it('is not REJECTED if a refund with this number exists for another amount', async () => {
      const attempt = bench.paid();
      const refund = refundOf(attempt, { amount: 7n });
      await provider.refund(refund, signal());
      const outcome = await provider.refund({ ...refund, amount: 8n }, signal());
      expect(outcome).toMatchObject({ type: 'UNKNOWN', untrusted: true });
    });

    it('is not requested with an amount that JSON would round', async () => {
      const outcome = await provider.refund(refundOf(bench.paid(), { amount: 2n ** 53n + 1n }), signal());
      expect(outcome).toMatchObject({ type: 'UNKNOWN' });
      expect(bench.requests).toEqual([]);
    });
  });

  it('closes a payment that a shop created with the SDK', async () => {
    const { mchid, appid, serialNo: serial, privateKey, platformKeys } = bench.shop;
    const config = { mchid, serial, privateKey, certs: { ...platformKeys }, baseURL: bench.baseUrl };
    const { data } = await new Decorator(config).v3.post<{ code_url: string }>('/v3/pay/transactions/native', {
      ...{
        appid,
        mchid,
        description: 'Order 4711',
        out_trade_no: 'order-4711-1',
        notify_url: 'https://shop.example/n',
      },
      ...{ time_expire: new Date(Date.now() + 900_000).toISOString(), amount: { total: 1_999, currency: 'CNY' } },
    });
    expect(data.code_url).toMatch(/^weixin:\/\//);
    const attempt = { ...bench.attempt(), reference: 'order-4711-1' };
    expect(await provider.query(attempt, signal())).toMatchObject({ type: 'OPEN' });
    expect(await provider.close(attempt, signal())).toMatchObject({ type: 'CLOSED' });
    expect(bench.payment(attempt).pay(Date.now())).toBe('refused');
  });
});

function digits(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

async function redirectTo(target: string): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) =>
    response.writeHead(307, { location: `${target}${request.url ?? ''}` }).end(),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

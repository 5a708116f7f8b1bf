import { Decorator } from 'wechatpay-axios-plugin';
import { X509Certificate } from 'node:crypto';
import { WechatPayBench } from './wechat-pay-bench';

/** The SDK verifies what the simulator signs, and signs what the simulator verifies. */
describe('the simulated WeChat Pay, called with the SDK', () => {
  let bench: WechatPayBench;
  let v3: Decorator['v3'];

  const order = (fields: object = {}): object => ({
    ...{ appid: bench.shop.appid, mchid: bench.shop.mchid, description: 'Order', out_trade_no: 'order-1' },
    ...{ notify_url: 'https://shop.example/notify', amount: { total: 1_999, currency: 'CNY' }, ...fields },
  });
  const create = async (fields: object = {}): Promise<{ status: number; code?: string; code_url?: string }> => {
    const { status, data } = await v3.post<{ code?: string }>('/v3/pay/transactions/native', order(fields));
    return { status, ...data };
  };

  function sdk(fields: { serial?: string; privateKey?: string } = {}): Decorator['v3'] {
    const { mchid, serialNo: serial, privateKey, platformKeys } = bench.shop;
    const config = { mchid, serial, privateKey, certs: { ...platformKeys }, baseURL: bench.baseUrl, ...fields };
    return new Decorator({ ...config, validateStatus: (status: number) => status !== 401 }).v3;
  }

  beforeAll(async () => {
    bench = await new WechatPayBench().open();
    v3 = sdk();
  });
  afterAll(() => bench.close());

  it('creates a payment once, and returns the same code for the same terms', async () => {
    const first = await create();
    expect(first).toMatchObject({ status: 200, code_url: expect.stringMatching(/^weixin:/) as string });
    expect(await create()).toEqual(first);
    expect(await create({ amount: { total: 1 } })).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
  });

  it.each([
    { out_trade_no: 'short' },
    { out_trade_no: 'with space' },
    { amount: { total: 0 } },
    { appid: 'wx-another' },
    { time_expire: '2026-01-01' },
  ])('refuses to create with %j', async (fields) => {
    expect(await create({ out_trade_no: 'order-bad', ...fields })).toMatchObject({ status: 400, code: 'PARAM_ERROR' });
  });

  it('creates no payment with the number of a closed or paid one', async () => {
    bench.payment(bench.attempt({ reference: 'order-closed', merchantAccount: 'shop' })).close(Date.now());
    bench.paid({ reference: 'order-paid', merchantAccount: 'shop' });
    expect(await create({ out_trade_no: 'order-closed' })).toMatchObject({ code: 'ORDER_CLOSED' });
    expect(await create({ out_trade_no: 'order-paid' })).toMatchObject({ code: 'ORDER_PAID' });
  });

  it('refuses the buyer from time_expire on, though the payment stays NOTPAY', async () => {
    const expiry = Date.now() + 60_000;
    await create({ out_trade_no: 'order-late', time_expire: new Date(expiry).toISOString() });
    const payment = bench.payment({ ...bench.attempt(), reference: 'order-late' });
    expect(payment.pay(expiry)).toBe('refused');
    expect(payment.query(expiry)).toBe('OPEN');
  });

  it('rejects a shop with another key or another serial', async () => {
    const stranger = bench.optionsOf('other');
    for (const http of [sdk({ privateKey: stranger.privateKey }), sdk({ serial: stranger.serialNo })]) {
      await expect(http.get('/v3/certificates')).rejects.toMatchObject({ response: { status: 401 } });
    }
  });

  it('shows a payment to its merchant only', async () => {
    const { reference } = bench.attempt({ merchantAccount: 'other' });
    const path = `/v3/pay/transactions/out-trade-no/${reference}`;
    const { status } = await v3.get(path, { params: { mchid: bench.shop.mchid } });
    expect(status).toBe(404);
    const foreign = await v3.get(path, { params: { mchid: bench.optionsOf('other').mchid } });
    expect(foreign.status).toBe(400);
  });

  it('closes with an empty 204', async () => {
    const { reference } = bench.attempt();
    const path = `/v3/pay/transactions/out-trade-no/${reference}/close`;
    const { status, data } = await v3.post<unknown>(path, { mchid: bench.shop.mchid });
    expect([status, data]).toEqual([204, '']);
  });

  it('has certificates that Node reads', () => {
    const { serial = '', certificate = '' } = bench.merchants['shop']?.platform[1] ?? {};
    const read = new X509Certificate(certificate);
    expect(read.serialNumber).toBe(serial);
    expect(read.verify(read.publicKey)).toBe(true);
  });

  it('redelivers a notification 15 times within 24 h and 4 min', () => {
    const { retryDelaysMs } = bench.protocol;
    expect(retryDelaysMs).toHaveLength(15);
    expect(retryDelaysMs.reduce((sum, ms) => sum + ms, 0)).toBe((24 * 60 + 4) * 60_000);
  });
});

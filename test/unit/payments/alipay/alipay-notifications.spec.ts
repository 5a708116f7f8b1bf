import { createSign, generateKeyPairSync } from 'node:crypto';
import { type Notification } from '../../../../src/payments';
import { AlipayProvider } from '../../../../src/payments/alipay';
import { generateAlipayMerchants } from '../../../../packages/payment-simulator/src/alipay';
import { ManualClock } from '../../../support/manual-clock';
import { alipayPrivateKey, merchant } from './fake-gateway';

type Params = Readonly<Record<string, string>>;

const [other] = Object.values(generateAlipayMerchants(['other']));
if (!other) throw new Error('no keys');
const otherApp = { appId: '2021999999999999', sellerId: '2088999999999999' };
const { notifications } = new AlipayProvider(
  {
    merchants: {
      shop: merchant,
      other: { ...otherApp, privateKey: other.privateKey, alipayPublicKey: other.alipayPublicKey },
    },
  },
  new ManualClock(),
);

const PAID: Params = {
  ...{ notify_type: 'trade_status_sync', notify_id: 'n-1', notify_time: '2026-01-01 08:00:01', charset: 'utf-8' },
  ...{ app_id: merchant.appId, seller_id: merchant.sellerId, buyer_logon_id: '159****5620', version: '1.0' },
  ...{ out_trade_no: 'ord-1', trade_no: '2026010122001', trade_status: 'TRADE_SUCCESS', total_amount: '88.88' },
  ...{ gmt_payment: '2026-01-01 07:59:30', subject: '订单 100% + "more"', fund_bill_list: '[{"amount":"88.88"}]' },
};

function sign(params: Params, key = alipayPrivateKey, algorithm = 'sha256'): Params {
  const text = Object.keys(params)
    .sort()
    .map((name) => `${name}=${params[name] ?? ''}`)
    .join('&');
  return { ...params, sign: createSign(algorithm).update(text).sign(key, 'base64'), sign_type: 'RSA2' };
}

function read(params: Params | string): Promise<Notification> {
  const body = typeof params === 'string' ? params : new URLSearchParams(params).toString();
  return notifications.read({ headers: {}, rawBody: Buffer.from(body) });
}

describe('a notification of Alipay', () => {
  it('of a payment has the amount and the merchant', async () => {
    expect(await read(sign(PAID))).toEqual({
      type: 'PAID',
      reference: 'ord-1',
      merchantAccount: 'shop',
      amount: 8_888n,
      currency: 'CNY',
      paidAt: new Date('2025-12-31T23:59:30Z'),
      transactionId: '2026010122001',
      evidence: {
        ...{ notify_type: 'trade_status_sync', notify_id: 'n-1', notify_time: '2026-01-01 08:00:01' },
        ...{ app_id: merchant.appId, seller_id: merchant.sellerId, out_trade_no: 'ord-1', trade_no: '2026010122001' },
        ...{ trade_status: 'TRADE_SUCCESS', total_amount: '88.88', gmt_payment: '2026-01-01 07:59:30' },
      },
    });
  });

  it('is read in the same way if it is delivered twice', async () => {
    const body = sign(PAID);
    expect(await read(body)).toEqual(await read(body));
  });

  it('is verified with the key of the merchant whose app it names', async () => {
    const body = { ...PAID, app_id: otherApp.appId, seller_id: otherApp.sellerId };
    expect(await read(sign(body, other.alipayPrivateKey))).toMatchObject({ type: 'PAID', merchantAccount: 'other' });
    expect(await read(sign(body))).toMatchObject({ type: 'REJECTED' });
  });

  it.each<[string, Params, string]>([
    ['a finished trade', { ...PAID, trade_status: 'TRADE_FINISHED' }, 'PAID'],
    ['a trade that waits for its buyer', { ...PAID, trade_status: 'WAIT_BUYER_PAY' }, 'IGNORED'],
    ['a closed trade', { ...PAID, trade_status: 'TRADE_CLOSED' }, 'STATUS_CHANGED'],
    ['a partial refund', { ...PAID, refund_fee: '1.00', gmt_refund: '2026-01-02 00:00:00' }, 'STATUS_CHANGED'],
    ['a refund without its amount', { ...PAID, gmt_refund: '2026-01-02 00:00:00' }, 'STATUS_CHANGED'],
    ['a new status', { ...PAID, trade_status: 'TRADE_SOMETHING' }, 'STATUS_CHANGED'],
    ['an unreadable amount', { ...PAID, total_amount: '8,888.00' }, 'STATUS_CHANGED'],
    ['no amount', { ...PAID, total_amount: '0.00' }, 'STATUS_CHANGED'],
    ['an unreadable time', { ...PAID, gmt_payment: '2026-13-01 00:00:00' }, 'STATUS_CHANGED'],
    ['another currency', { ...PAID, trans_currency: 'USD' }, 'STATUS_CHANGED'],
    ['an ambiguous value', { ...PAID, subject: 'x&total_amount=0.01' }, 'STATUS_CHANGED'],
    ['no trade', { ...PAID, out_trade_no: '' }, 'IGNORED'],
  ])('about %s is mapped', async (_, params, type) => {
    expect(await read(sign(params))).toMatchObject({ type });
  });

  it.each(Object.keys(PAID))('with another %s than was signed is rejected', async (name) => {
    expect(await read({ ...sign(PAID), [name]: `${PAID[name] ?? ''}1` })).toMatchObject({ type: 'REJECTED' });
  });

  it.each(Object.keys(PAID))('without the %s that was signed is rejected', async (name) => {
    const body = Object.fromEntries(Object.entries(sign(PAID)).filter(([given]) => given !== name));
    expect(await read(body)).toMatchObject({ type: 'REJECTED' });
  });

  const signed = sign(PAID);
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({
    format: 'pem',
    type: 'pkcs8',
  });
  it.each<[string, Params | string]>([
    ['signed with another key', sign(PAID, stranger.toString())],
    ['signed by SHA-1', { ...sign(PAID, alipayPrivateKey, 'sha1'), sign_type: 'RSA' }],
    ['with an unknown sign type', { ...signed, sign_type: 'constructor' }],
    ['without a sign type', Object.fromEntries(Object.entries(signed).filter(([name]) => name !== 'sign_type'))],
    ['without a signature', { ...signed, sign: '' }],
    ['of an app that is not configured', sign({ ...PAID, app_id: '1' })],
    ['of another seller', sign({ ...PAID, seller_id: otherApp.sellerId })],
    ['with one field more', { ...signed, more: '1' }],
    ['with another amount before the signed one', `total_amount=0.01&${new URLSearchParams(signed).toString()}`],
    ['with another amount behind the signed one', `${new URLSearchParams(signed).toString()}&total_amount=0.01`],
    ['that is JSON', '{"trade_status":"TRADE_SUCCESS"}'],
    ['that is empty', ''],
    ['that is not UTF-8', Buffer.from([0xff, 0xfe, 0x3d]).toString('latin1')],
  ])('%s is rejected', async (_, body) => {
    expect(await read(body)).toMatchObject({ type: 'REJECTED' });
  });

  it('with more parameters than Alipay sends is rejected before its signature is checked', async () => {
    const padding = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`padding_${index}`, '']));
    expect(await read(sign({ ...PAID, ...padding }))).toMatchObject({
      type: 'REJECTED',
      reason: expect.stringContaining('more than 200 parameters') as string,
    });
  });

  it('is answered exactly as Alipay expects', () => {
    expect(notifications.reply('accepted')).toEqual({ status: 200, contentType: 'text/plain', body: 'success' });
    expect(notifications.reply('later')).toMatchObject({ status: 500, body: 'fail' });
    expect(notifications.reply('rejected')).toMatchObject({ status: 400, body: 'fail' });
  });
});

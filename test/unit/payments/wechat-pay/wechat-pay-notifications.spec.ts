import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { type Notification, type NotificationRequest } from '../../../../src/payments';
import { type WechatPayMerchant, WechatPayProvider } from '../../../../src/payments/wechat-pay';
import { type NotificationPost } from '../../../../packages/payment-simulator/src/protocol';
import { sealForShop } from '../../../../packages/payment-simulator/src/wechat-pay/seal-for-shop';
import { signForShop } from '../../../../packages/payment-simulator/src/wechat-pay/sign-for-shop';
import { type WechatPayPlatformKey } from '../../../../packages/payment-simulator/src/wechat-pay/wechat-pay-merchants';
import { ManualClock } from '../../../support/manual-clock';
import { WechatPayBench } from './wechat-pay-bench';

describe('WechatPayNotifications', () => {
  const bench = new WechatPayBench();
  const clock = new ManualClock();
  const shop = bench.shop;
  const merchants = { shop, other: bench.optionsOf('other') };
  const { notifications } = new WechatPayProvider({ merchants }, clock);
  const [publicKey, certificate] = bench.merchants['shop']?.platform ?? [];

  function resourceOf(fields: object = {}): object {
    return {
      ...{ mchid: shop.mchid, appid: shop.appid, out_trade_no: 'order-4711', trade_state: 'SUCCESS' },
      ...{ transaction_id: '42', success_time: '2026-01-01T08:00:01+08:00', payer: { openid: 'o-1' } },
      ...{ amount: { total: 1_999, payer_total: 1_999, currency: 'CNY' }, ...fields },
    };
  }

  function post(
    resource: object | string = resourceOf(),
    { event = 'TRANSACTION.SUCCESS', key = publicKey, apiV3Key = shop.apiV3Key, atMs = clock.now() } = {},
  ): NotificationPost {
    const plaintext = typeof resource === 'string' ? resource : JSON.stringify(resource);
    const body = JSON.stringify({
      ...{ id: 'n-1', create_time: '2026-01-01T08:00:02+08:00', event_type: event, resource_type: 'encrypt-resource' },
      resource: sealForShop(plaintext, apiV3Key, 'transaction'),
    });
    return { headers: signForShop(key as WechatPayPlatformKey, body, atMs), body };
  }

  function received({ headers, body }: NotificationPost): NotificationRequest {
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    return { headers: lower, rawBody: Buffer.from(body) };
  }

  const read = (given: NotificationPost): Promise<Notification> => notifications.read(received(given));
  const rejection = (reason: string): object => ({
    type: 'REJECTED',
    reason: expect.stringContaining(reason) as string,
  });

  it('reads a payment', async () => {
    expect(await read(post())).toMatchObject({
      type: 'PAID',
      reference: 'order-4711',
      merchantAccount: 'shop',
      amount: 1_999n,
      currency: 'CNY',
      paidAt: new Date('2026-01-01T00:00:01Z'),
      transactionId: '42',
      evidence: { notification: 'n-1', event_type: 'TRANSACTION.SUCCESS' },
    });
  });

  it('reads what the simulated WeChat Pay posts', async () => {
    const provider = new WechatPayProvider({ merchants }, bench.clock);
    const attempt = bench.paid({ merchantAccount: 'other' });
    const paid = bench.protocol.notification(bench.payment(attempt), 'paid');
    bench.payment(attempt).refundDirectly(Date.now());
    const refunded = bench.protocol.notification(bench.payment(attempt), 'refunded');
    const about = { reference: attempt.reference, merchantAccount: 'other' };
    expect(await provider.notifications.read(received(paid as NotificationPost))).toMatchObject({
      type: 'PAID',
      ...about,
    });
    const notification = await provider.notifications.read(received(refunded as NotificationPost));
    expect(notification).toMatchObject({ type: 'STATUS_CHANGED', ...about, evidence: { refund_status: 'SUCCESS' } });
    expect(bench.protocol.notification(bench.payment(attempt), 'closed')).toBeUndefined();
  });

  it('reads what the simulated WeChat Pay posts about a refund that failed later', async () => {
    const attempt = bench.paid({ merchantAccount: 'other' });
    bench.payment(attempt).refundDirectly(Date.now());
    bench.payment(attempt).failRefund(Date.now());
    const failed = bench.protocol.notification(bench.payment(attempt), 'refund-failed');
    const provider = new WechatPayProvider({ merchants }, bench.clock);
    expect(await provider.notifications.read(received(failed as NotificationPost))).toMatchObject({
      ...{ type: 'STATUS_CHANGED', reference: attempt.reference, merchantAccount: 'other' },
      evidence: { event_type: 'REFUND.ABNORMAL', refund_status: 'ABNORMAL' },
    });
    expect(bench.protocol.notification(bench.payment(attempt), 'disputed')).toBeUndefined();
  });

  it('keeps no data about the payer', async () => {
    expect((await read(post())) as { evidence: object }).not.toHaveProperty('evidence.payer');
  });

  it('reads every copy in the same way', async () => {
    const copy = post();
    expect(await read(copy)).toEqual(await read(copy));
  });

  it.each(['REFUND.SUCCESS', 'REFUND.ABNORMAL', 'REFUND.CLOSED'])(
    'reads %s as STATUS_CHANGED of the payment',
    async (event) => {
      const refund = { mchid: shop.mchid, out_trade_no: 'order-4711', out_refund_no: 'r-1', refund_status: 'SUCCESS' };
      const expected = { type: 'STATUS_CHANGED', reference: 'order-4711', merchantAccount: 'shop' };
      expect(await read(post(refund, { event }))).toMatchObject(expected);
      expect(await read(post({ ...refund, mchid: '1900009999' }, { event }))).toMatchObject(rejection('mchid'));
      expect(await read(post({ mchid: shop.mchid }, { event }))).toMatchObject(rejection('not a refund'));
    },
  );

  it('reads a payment without an amount as STATUS_CHANGED, so that it is looked up', async () => {
    expect(await read(post(resourceOf({ amount: {} })))).toMatchObject({
      type: 'STATUS_CHANGED',
      reference: 'order-4711',
    });
  });

  it('ignores other events', async () => {
    expect(await read(post({ mchid: shop.mchid }, { event: 'COUPON.USE' }))).toMatchObject({ type: 'IGNORED' });
  });

  describe('rejects', () => {
    it.each(['wechatpay-timestamp', 'wechatpay-nonce', 'wechatpay-serial', 'wechatpay-signature'])(
      'one without %s, or with two of them',
      async (name) => {
        const { headers, rawBody } = received(post());
        const without = { ...headers, [name]: undefined };
        expect(await notifications.read({ headers: without, rawBody })).toMatchObject(rejection('not signed'));
        const twice = { ...headers, [name]: [String(headers[name]), 'x'] };
        expect(await notifications.read({ headers: twice, rawBody })).toMatchObject(rejection('not signed'));
      },
    );

    it('one with any byte of the body changed', async () => {
      const { headers, rawBody } = received(post());
      await fc.assert(
        fc.asyncProperty(fc.nat(rawBody.length - 1), fc.integer({ min: 1, max: 255 }), async (index, change) => {
          const changed = Buffer.from(rawBody);
          changed[index] = (changed[index] ?? 0) ^ change;
          const notification = await notifications.read({ headers, rawBody: changed });
          expect(notification).toMatchObject(rejection('signature is wrong'));
        }),
      );
    });

    it.each(['wechatpay-timestamp', 'wechatpay-nonce', 'wechatpay-signature'])('one with another %s', async (name) => {
      const { headers, rawBody } = received(post());
      const other = received(post()).headers[name];
      const later = { ...headers, [name]: name.endsWith('timestamp') ? String(Number(other) + 1) : other };
      expect(await notifications.read({ headers: later, rawBody })).toMatchObject(rejection('signature is wrong'));
    });

    it('one signed with another key under the right serial', async () => {
      const thief = { serial: publicKey?.serial ?? '', privateKey: shop.privateKey };
      expect(await read(post(undefined, { key: thief }))).toMatchObject(rejection('signature is wrong'));
    });

    it('one signed with a key that is not configured', async () => {
      expect(await read(post(undefined, { key: certificate }))).toMatchObject(rejection('unknown platform key'));
    });

    it('signature probes of WeChat Pay', async () => {
      const { headers, rawBody } = received(post());
      const probe = {
        ...headers,
        'wechatpay-signature': `WECHATPAY/SIGNTEST/${String(headers['wechatpay-signature'])}`,
      };
      expect(await notifications.read({ headers: probe, rawBody })).toMatchObject(rejection('probe'));
    });

    it.each([-301, 301])('a signed one whose timestamp is %s s from now', async (seconds) => {
      const atMs = clock.now() + seconds * 1_000;
      expect(await read(post(undefined, { atMs }))).toMatchObject(rejection('NTP'));
      expect(await read(post(undefined, { atMs: atMs - Math.sign(seconds) * 2_000 }))).toMatchObject({ type: 'PAID' });
    });

    it('one encrypted with another APIv3 key', async () => {
      const apiV3Key = randomBytes(16).toString('hex');
      expect(await read(post(undefined, { apiV3Key }))).toMatchObject(rejection('APIv3 key'));
    });

    it.each([
      ['mchid', { mchid: '1900009999' }],
      ['appid', { appid: 'wx-another' }],
    ])('one about another %s', async (what, fields) => {
      expect(await read(post(resourceOf(fields)))).toMatchObject(rejection(what));
    });

    it('one that names a merchant with another key', async () => {
      const foreign = resourceOf({ mchid: merchants.other.mchid, appid: merchants.other.appid });
      expect(await read(post(foreign))).toMatchObject(rejection('mchid'));
      expect(await read(post(foreign, { apiV3Key: merchants.other.apiV3Key }))).toMatchObject(rejection('APIv3 key'));
    });

    it.each([
      ['not JSON', 'hello'],
      ['not an object', '[]'],
      ['without a resource', '{"id":"n-1","event_type":"TRANSACTION.SUCCESS"}'],
    ])('a signed body that is %s', async (_, body) => {
      const headers = signForShop(publicKey as WechatPayPlatformKey, body, clock.now());
      expect(await read({ headers, body })).toMatchObject(rejection('does not have the documented format'));
    });

    it('a resource that is not a payment', async () => {
      expect(await read(post('not JSON'))).toMatchObject(rejection('not a payment'));
    });

    it('any unsigned message', async () => {
      await fc.assert(
        fc.asyncProperty(fc.dictionary(fc.string(), fc.string()), fc.uint8Array(), async (headers, body) => {
          const notification = await notifications.read({ headers, rawBody: Buffer.from(body) });
          expect(notification.type).toBe('REJECTED');
        }),
      );
    });
  });

  it('accepts both keys while a merchant changes from the certificate to the public key', async () => {
    const platformKeys = { ...shop.platformKeys, [certificate?.serial ?? '']: certificate?.certificate ?? '' };
    const changing: WechatPayMerchant = { ...shop, platformKeys };
    const reader = new WechatPayProvider({ merchants: { shop: changing } }, clock).notifications;
    for (const key of [publicKey, certificate]) {
      expect(await reader.read(received(post(undefined, { key })))).toMatchObject({ type: 'PAID' });
    }
  });

  it('replies in the format of WeChat Pay', () => {
    expect(notifications.reply('accepted')).toEqual({ status: 204, body: '' });
    for (const [verdict, status] of [
      ['later', 500],
      ['rejected', 401],
    ] as const) {
      const reply = notifications.reply(verdict);
      expect(reply).toMatchObject({ status, contentType: 'application/json' });
      expect(JSON.parse(reply.body)).toEqual({ code: 'FAIL', message: expect.any(String) as string });
    }
  });

  it('replies in a way that the simulated WeChat Pay understands', () => {
    const understood = (['accepted', 'later', 'rejected'] as const).map((verdict) =>
      bench.protocol.isAcknowledged(notifications.reply(verdict).status),
    );
    expect(understood).toEqual([true, false, false]);
  });
});

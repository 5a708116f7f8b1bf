import fc from 'fast-check';
import { type CloseOutcome, type QueryOutcome } from '../../../../src/payments';
import {
  toCloseOutcome,
  toRefusedCloseOutcome,
  toQueryOutcome,
  isRefusal,
  toRefundOutcome,
} from '../../../../src/payments/wechat-pay/map-answers';
import { type WechatPayAnswer } from '../../../../src/payments/wechat-pay/wechat-pay-options';
import { anAttempt } from '../an-attempt';
import { refundOf } from './wechat-pay-bench';

const AT = new Date('2026-01-01T00:00:00Z');
const merchant = { mchid: '1900000109', appid: 'wx1' };
const attempt = anAttempt({ reference: 'order-1', currency: 'CNY' });

function answer(fields: Partial<WechatPayAnswer> = {}): WechatPayAnswer {
  return {
    type: 'ANSWER',
    status: 200,
    body: undefined,
    code: undefined,
    message: undefined,
    verification: { type: 'VERIFIED', at: AT },
    retryAfterMs: undefined,
    requestId: undefined,
    ...fields,
  };
}

function transaction(fields: object = {}): object {
  return {
    ...{ mchid: '1900000109', appid: 'wx1', out_trade_no: 'order-1', trade_state: 'SUCCESS' },
    ...{
      transaction_id: '42',
      success_time: '2026-01-01T08:00:01+08:00',
      amount: { total: 1_999, payer_total: 1_800 },
    },
    ...fields,
  };
}

const query = (fields: Partial<WechatPayAnswer>): QueryOutcome => toQueryOutcome(answer(fields), merchant, attempt);
const unsigned = { verification: { type: 'UNVERIFIED', reason: 'it is not signed' } } as const;

describe('mapping WeChat Pay queries', () => {
  it.each([
    ['NOTPAY', 'OPEN'],
    ['USERPAYING', 'PROCESSING'],
    ['ACCEPT', 'PROCESSING'],
    ['SUCCESS', 'PAID'],
    ['REFUND', 'UNKNOWN'],
    ['CLOSED', 'CLOSED'],
    ['REVOKED', 'CLOSED'],
    ['PAYERROR', 'CLOSED'],
    ['closed', 'UNKNOWN'],
    ['constructor', 'UNKNOWN'],
    ['', 'UNKNOWN'],
  ])('trade_state %s means %s', (state, type) => {
    expect(query({ body: transaction({ trade_state: state }) }).type).toBe(type);
    expect(query({ body: transaction({ trade_state: state }), ...unsigned }).type).toBe('UNKNOWN');
  });

  it('reads the amount that the shop receives, the time, and the transaction id', () => {
    expect(query({ body: transaction() })).toMatchObject({
      type: 'PAID',
      amount: 1_999n,
      currency: 'CNY',
      paidAt: new Date('2026-01-01T00:00:01Z'),
      transactionId: '42',
      evidence: { amount: { payer_total: 1_800 } },
    });
  });

  it.each([
    ['no amount', { amount: undefined }],
    ['an amount of zero', { amount: { total: 0 } }],
    ['a negative amount', { amount: { total: -1 } }],
    ['a fraction of a fen', { amount: { total: 19.99 } }],
    ['an amount as text', { amount: { total: '1999' } }],
    ['an amount above 2^53', { amount: { total: 2 ** 53 } }],
    ['no transaction id', { transaction_id: undefined }],
    ['no time', { success_time: undefined }],
    ['an invalid time', { success_time: 'yesterday' }],
    ['an invalid currency', { amount: { total: 1, currency: 'yuan' } }],
  ])('is UNKNOWN for a payment with %s', (_, fields) => {
    expect(query({ body: transaction(fields) })).toMatchObject({ type: 'UNKNOWN' });
  });

  it.each([
    ['mchid', { mchid: '1900000110' }],
    ['appid', { appid: undefined }],
    ['out_trade_no', { out_trade_no: 'order-2' }],
    ['currency', { amount: { total: 1_999, currency: 'USD' } }],
  ])('is not trusted if %s differs', (what, fields) => {
    for (const trade_state of what === 'currency' ? ['SUCCESS'] : ['SUCCESS', 'CLOSED', 'NOTPAY']) {
      const outcome = query({ body: transaction({ ...fields, trade_state }) });
      expect(outcome).toMatchObject({ type: 'UNKNOWN', untrusted: true });
      expect((outcome as { reason: string }).reason).toContain(what);
    }
  });

  it.each([
    [404, 'ORDERNOTEXIST', 'NOT_FOUND'],
    [404, 'RESOURCENOTEXISTS', 'UNKNOWN'],
    [404, undefined, 'UNKNOWN'],
    [400, 'ORDERNOTEXIST', 'UNKNOWN'],
    [200, 'ORDERNOTEXIST', 'UNKNOWN'],
    [429, 'RATELIMITEXCEEDED', 'UNKNOWN'],
    [403, 'RULELIMIT', 'UNKNOWN'],
    [401, 'SIGNERROR', 'UNKNOWN'],
    [202, undefined, 'UNKNOWN'],
    [204, undefined, 'UNKNOWN'],
  ])('%s %s means %s', (status, code, type) => {
    expect(query({ status, code }).type).toBe(type);
    expect(query({ status, code, ...unsigned }).type).toBe('UNKNOWN');
  });

  it('maps every unverified answer to UNKNOWN', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.string(), fc.anything(), (status, code, body) => {
        expect(query({ status, code, body, ...unsigned }).type).toBe('UNKNOWN');
      }),
    );
  });

  it('never returns PAID or CLOSED for a body that does not name the payment', () => {
    fc.assert(
      fc.property(fc.constantFrom('SUCCESS', 'CLOSED'), fc.string(), (trade_state, out_trade_no) => {
        fc.pre(out_trade_no !== 'order-1');
        expect(query({ body: transaction({ trade_state, out_trade_no }) }).type).toBe('UNKNOWN');
      }),
    );
  });
});

describe('mapping WeChat Pay closes', () => {
  it.each<[number, string | undefined, CloseOutcome['type'] | 'ASK']>([
    [204, undefined, 'CLOSED'],
    [200, undefined, 'UNKNOWN'],
    [202, 'USERPAYING', 'IN_PROGRESS'],
    [400, 'USERPAYING', 'IN_PROGRESS'],
    [429, 'FREQUENCYLIMITED', 'IN_PROGRESS'],
    [403, 'FREQUENCYLIMITED', 'IN_PROGRESS'],
    [429, 'RATELIMITEXCEEDED', 'UNKNOWN'],
    [403, 'RULELIMIT', 'UNKNOWN'],
    [404, 'ORDERNOTEXIST', 'NOT_FOUND'],
    [404, undefined, 'UNKNOWN'],
    [400, 'ORDERCLOSED', 'ASK'],
    [400, 'ORDERPAID', 'ASK'],
    [403, 'TRADEERROR', 'ASK'],
    [400, 'INVALIDREQUEST', 'ASK'],
    [200, 'ORDERCLOSED', 'UNKNOWN'],
    [401, 'SIGNERROR', 'UNKNOWN'],
    [403, 'NOAUTH', 'UNKNOWN'],
    [400, 'PARAMERROR', 'UNKNOWN'],
  ])('%s %s means %s', (status, code, type) => {
    expect(toCloseOutcome(answer({ status, code }))?.type ?? 'ASK').toBe(type);
    const forged = toCloseOutcome(answer({ status, code, ...unsigned }))?.type ?? 'ASK';
    expect(forged).toBe(type === 'ASK' ? 'ASK' : 'UNKNOWN');
  });

  it('does not trust an unsigned 204', () => {
    expect(toCloseOutcome(answer({ status: 204, ...unsigned }))).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });

  const paid = { type: 'PAID', amount: 1n, currency: 'CNY', paidAt: AT, transactionId: 't', evidence: {} } as const;
  it.each<[QueryOutcome, CloseOutcome['type']]>([
    [{ type: 'CLOSED' }, 'ALREADY_CLOSED'],
    [paid, 'PAID'],
    [{ type: 'PROCESSING' }, 'IN_PROGRESS'],
    [{ type: 'NOT_FOUND' }, 'NOT_FOUND'],
    [{ type: 'OPEN' }, 'UNKNOWN'],
    [{ type: 'UNKNOWN', reason: 'x' }, 'UNKNOWN'],
  ])('a refusal followed by $type means %s', (state, type) => {
    expect(toRefusedCloseOutcome(answer({ status: 400, code: 'ORDERCLOSED' }), state).type).toBe(type);
  });
});

describe('mapping WeChat Pay refunds', () => {
  const request = refundOf(attempt, { refundNumber: 'a'.repeat(32) });
  const refund = {
    ...{ refund_id: '503', out_refund_no: 'a'.repeat(32), out_trade_no: 'order-1', status: 'SUCCESS' },
    amount: { refund: 1_999, total: 1_999, currency: 'CNY' },
  };

  it.each([
    ['SUCCESS', 'REFUNDED'],
    ['PROCESSING', 'PENDING'],
    ['CLOSED', 'REJECTED'],
    ['ABNORMAL', 'REJECTED'],
    ['WHATEVER', 'UNKNOWN'],
  ])('status %s means %s', (status, type) => {
    expect(toRefundOutcome(answer({ body: { ...refund, status } }), request).type).toBe(type);
    expect(toRefundOutcome(answer({ body: { ...refund, status }, ...unsigned }), request).type).toBe('UNKNOWN');
  });

  it.each([
    { out_refund_no: 'b'.repeat(32) },
    { out_trade_no: 'order-2' },
    { amount: { ...refund.amount, refund: 1_998 } },
    { amount: { ...refund.amount, currency: 'USD' } },
  ])('is not trusted with %j', (fields) => {
    expect(toRefundOutcome(answer({ body: { ...refund, ...fields } }), request)).toMatchObject({
      type: 'UNKNOWN',
      untrusted: true,
    });
  });

  it.each([
    [403, 'NOTENOUGH', true],
    [400, 'INVALIDREQUEST', true],
    [400, 'PARAMERROR', true],
    [404, 'RESOURCENOTEXISTS', true],
    [403, 'NOAUTH', false],
    [401, 'SIGNERROR', false],
    [429, 'FREQUENCYLIMITED', false],
    [403, 'RULELIMIT', false],
    [404, undefined, false],
  ])('%s %s is final: %s', (status, code, isForGood) => {
    expect(isRefusal(answer({ status, code }))).toBe(isForGood);
    expect(isRefusal(answer({ status, code, ...unsigned }))).toBe(false);
  });
});

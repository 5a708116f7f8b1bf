import { HttpPaymentProvider, type RefundRequest } from '../../../src/payments';
import { signHttpRequest, signHttpResponse } from '../../../src/payments/http/http-exchange';
import { anAttempt } from './an-attempt';
import { answerHttp } from './http-peer';
import { ManualClock } from '../../support/manual-clock';

jest.mock('../../../src/payments/http/http-exchange', () => ({
  ...jest.requireActual<object>('../../../src/payments/http/http-exchange'),
  sendHttpRequest: jest.fn(),
}));

const SECRET = 'the-secret-of-the-default-merchant';
const never = new AbortController().signal;
const REFUND: RefundRequest = {
  attempt: anAttempt(),
  refundNumber: '0123456789abcdef0123456789abcdef',
  amount: 900_719_925_474_099_312n,
  paidAmount: 900_719_925_474_099_312n,
  currency: 'EUR',
  reason: 'order closed',
};

/** HttpPaymentProvider before a provider that answers so, signed as agreed unless it has another secret. */
function provider(status: number, body: Record<string, unknown>, secret = SECRET) {
  const clock = new ManualClock();
  const requests: { readonly url: URL; readonly headers: Headers; readonly body: string }[] = [];
  answerHttp(async (request) => {
    const url = new URL(request.url);
    requests.push({ url, headers: request.headers, body: await request.text() });
    const echo = { reference: 'ord-1', nonce: request.headers.get('x-nonce'), merchantAccount: null };
    const text = JSON.stringify({ ...echo, now: new Date(clock.now()).toISOString(), ...body });
    const timestamp = String(Math.floor(clock.now() / 1_000));
    const message = { timestamp, method: request.method, path: url.pathname, status, body: Buffer.from(text) };
    const headers = { 'x-timestamp': timestamp, 'x-signature': signHttpResponse(secret, message) };
    return new Response(text, { status, headers });
  });
  return {
    http: new HttpPaymentProvider({ name: 'pay', baseUrl: 'http://pay.test/v1', secret: SECRET }, clock),
    requests,
  };
}

describe('HttpPaymentProvider.refund', () => {
  it('posts and signs number, amount in digits, currency, and reason', async () => {
    const { http, requests } = provider(200, { status: 'PENDING' });
    await http.refund(REFUND, never);
    const [request] = requests;
    expect(request?.url.href).toBe('http://pay.test/v1/payments/ord-1/refunds');
    expect(JSON.parse(request?.body ?? '')).toEqual({
      refundNumber: REFUND.refundNumber,
      amount: '900719925474099312',
      currency: 'EUR',
      reason: 'order closed',
    });
    await http.refund({ ...REFUND, transactionId: 'tx-77' }, never);
    expect(JSON.parse(requests[1]?.body ?? '')).toMatchObject({ transactionId: 'tx-77' });
    const [timestamp, nonce] = ['x-timestamp', 'x-nonce'].map((name) => request?.headers.get(name) ?? '');
    const message = {
      timestamp: timestamp ?? '',
      nonce: nonce ?? '',
      method: 'POST',
      path: '/v1/payments/ord-1/refunds',
    };
    expect(request?.headers.get('x-signature')).toBe(
      signHttpRequest(SECRET, { ...message, body: Buffer.from(request?.body ?? '') }),
    );
  });

  it.each<[number, Record<string, unknown>, Record<string, unknown>]>([
    [200, { status: 'REFUNDED', refundId: 're-7' }, { type: 'REFUNDED', refundId: 're-7' }],
    [200, { status: 'PENDING' }, { type: 'PENDING' }],
    [409, { status: 'REJECTED', reason: 'balance too low' }, { type: 'REJECTED', reason: 'balance too low' }],
    [404, { status: 'NOT_FOUND' }, { type: 'REJECTED', reason: 'the provider has no such payment' }],
  ])('maps %i with %j', async (status, body, outcome) => {
    expect(await provider(status, body).http.refund(REFUND, never)).toMatchObject(outcome);
  });

  it.each<[string, number, Record<string, unknown>]>([
    ['REFUNDED without a refund id', 200, { status: 'REFUNDED' }],
    ['REFUNDED in a 409', 409, { status: 'REFUNDED', refundId: 're-7' }],
    ['REJECTED in a 200', 200, { status: 'REJECTED', reason: 'no' }],
    ['REJECTED without a reason', 409, { status: 'REJECTED' }],
    ['a status of another call', 200, { status: 'CLOSED' }],
    ['nothing', 200, {}],
  ])('%s is UNKNOWN', async (_, status, body) => {
    expect(await provider(status, body).http.refund(REFUND, never)).toMatchObject({ type: 'UNKNOWN' });
  });

  it('a server error is UNKNOWN and an outage', async () => {
    const outcome = await provider(500, { status: 'REFUNDED', refundId: 're-7' }).http.refund(REFUND, never);
    expect(outcome).toMatchObject({ type: 'UNKNOWN', outage: true });
  });

  it('a forged answer is UNKNOWN and reported as untrusted', async () => {
    const forged = provider(200, { status: 'REFUNDED', refundId: 're-7' }, 'the-secret-of-somebody-else');
    expect(await forged.http.refund(REFUND, never)).toMatchObject({ type: 'UNKNOWN', untrusted: true });
  });
});

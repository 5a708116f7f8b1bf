import {
  isFreshTimestamp,
  isSameSignature,
  signHttpRequest,
  signHttpResponse,
} from '../../../src/payments/http/http-exchange';

const secret = '0123456789abcdef0123';
const timestamp = '1700000000';

// Both were made with: printf '…' | openssl dgst -sha256 -hmac 0123456789abcdef0123
const REQUEST_BY_OPENSSL = 'e70a79034ecfe164c9e5e348aab28765cef65e5877ef910123435eac73b0d184';
const RESPONSE_BY_OPENSSL = 'a2a348a03e4803a46f51527a36cb57c19686c2e3680854813f2f8a14e9773b87';

describe('the signature of HTTP messages', () => {
  it('equals the result of openssl for a request', () => {
    const path = '/v1/payments/ord-1?merchantAccount=m1';
    const message = { timestamp, method: 'GET', path, nonce: 'n-1', body: new Uint8Array() };
    expect(signHttpRequest(secret, message)).toBe(REQUEST_BY_OPENSSL);
  });

  it('equals the result of openssl for a response', () => {
    const body = Buffer.from('{"status":"CLOSED"}');
    const message = { timestamp, method: 'POST', path: '/payments/ord-1/close', status: 200, body };
    expect(signHttpResponse(secret, message)).toBe(RESPONSE_BY_OPENSSL);
  });

  it('differs if anything it covers differs', () => {
    const message = { timestamp, method: 'GET', path: '/payments/1', status: 200, body: Buffer.from('{}') };
    const all = [
      message,
      { ...message, timestamp: '1700000001' },
      { ...message, method: 'POST' },
      { ...message, path: '/payments/2' },
      { ...message, status: 404 },
      { ...message, body: Buffer.from('{ }') },
    ].map((each) => signHttpResponse(secret, each));
    expect(new Set(all).size).toBe(6);
  });

  it('equals only itself, even if the lengths differ', () => {
    expect(isSameSignature('abc', 'abc')).toBe(true);
    expect(isSameSignature('abc', 'abd')).toBe(false);
    expect(isSameSignature('abc', 'ab')).toBe(false);
    expect(isSameSignature('abc', '')).toBe(false);
  });

  it.each([
    ['1700000300', true],
    ['1699999700', true],
    ['1700000301', false],
    ['1699999699', false],
    ['1700000000.5', false],
    ['-1', false],
    ['', false],
    ['soon', false],
  ])('accepts the timestamp %s at second 1700000000: %s', (given, fresh) => {
    expect(isFreshTimestamp(given, 1_700_000_000_000)).toBe(fresh);
  });
});

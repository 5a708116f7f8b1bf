import { judgeResponse } from '../../../src/webhooks/webhooks';

const NOW = Date.UTC(2030, 0, 1);
const judge = (status: number, retryAfter?: string) => judgeResponse({ status, retryAfter }, NOW);

describe('the answer of an endpoint', () => {
  it.each([200, 201, 204, 299])('%d is a success', (status) => {
    expect(judge(status)).toEqual({ type: 'delivered' });
  });

  it.each([
    [302, 'HTTP 302; redirects are not followed'],
    [404, 'HTTP 404'],
    [500, 'HTTP 500'],
  ])('%d is a failure', (status, reason) => {
    expect(judge(status)).toEqual({ type: 'failed', reason });
  });

  it('410 ends the delivery', () => {
    expect(judge(410)).toMatchObject({ type: 'gone' });
  });

  it.each([
    ['120', 120_000],
    ['Tue, 01 Jan 2030 00:01:00 GMT', 60_000],
    ['Mon, 31 Dec 2029 23:59:00 GMT', 0],
    ['999999999', 24 * 3_600_000],
  ])('with Retry-After %s is tried again after that, but within a day', (retryAfter, retryAfterMs) => {
    expect(judge(503, retryAfter)).toEqual({ type: 'failed', reason: 'HTTP 503', retryAfterMs });
  });

  it('with an invalid Retry-After is tried again by the schedule', () => {
    expect(judge(429, 'soon')).toEqual({ type: 'failed', reason: 'HTTP 429' });
  });
});

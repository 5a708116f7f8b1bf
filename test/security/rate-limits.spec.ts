import { KEYS, openService, type RunningService } from '../e2e/running-service';

const LIMITS = { RATE_LIMIT_PER_SECOND: '5', RATE_LIMIT_FAILURES_PER_SECOND: '3' };

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('rate limits of the HTTP API', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService(LIMITS);
  });
  afterAll(() => service.close());

  /** Sent at once, so that they fall into one second; a window that ends between them lets twice as many in. */
  const burst = async (count: number, key: string | null, path = '/orders/nobody') => {
    const answers = await Promise.all(Array.from({ length: count }, () => service.call('get', path, undefined, key)));
    return { answers, of: (status: number) => answers.filter((answer) => answer.status === status) };
  };

  it('answer 429 with a problem that says when to come again, to what comes too fast with one key', async () => {
    const { of } = await burst(40, KEYS.all);
    expect(of(404).length).toBeGreaterThanOrEqual(5);
    expect(of(404).length).toBeLessThanOrEqual(15);
    expect(of(404).length + of(429).length).toBe(40);
    const [refused] = of(429);
    expect(refused?.body).toMatchObject({ code: 'RATE_LIMITED', status: 429, title: 'Too many requests' });
    expect(refused?.headers).toMatchObject({ 'retry-after': '1', 'content-type': expect.stringContaining('problem+json') as unknown }); // prettier-ignore
  });

  it('are kept for each key by itself', async () => {
    const [shop, reader] = await Promise.all([burst(30, KEYS.all), burst(4, KEYS.reader)]);
    expect(shop.of(429).length).toBeGreaterThan(0);
    expect(reader.of(429)).toEqual([]);
  });

  it('refuse an address that guesses keys, without locking out who has one', async () => {
    const [guesses, none, known] = await Promise.all([
      burst(20, 'guess'),
      burst(20, null),
      burst(4, KEYS.stock, '/inventory/nothing'),
    ]);
    expect(guesses.of(429).length + none.of(429).length).toBeGreaterThanOrEqual(20);
    expect(known.of(404)).toHaveLength(4);
  });

  it('leave probes and metrics alone', async () => {
    expect((await burst(40, null, '/health/live')).of(200)).toHaveLength(40);
  });
});

import { type AttackStage, openAttackStage } from '../security/attack-stage';
import { type Post } from '../security/payers';
import { until } from '../support/engine';

const WINDOW_MS = 1_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How often each status came. */
function tally(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('an address that posts forged notifications', () => {
  let stage: AttackStage;

  const open = async (environment: Record<string, string> = {}): Promise<void> => {
    stage = await openAttackStage(environment);
  };
  afterEach(() => stage.close());

  const genuine = (): Post => {
    const stripe = stage.payers.find(({ name }) => name === 'stripe');
    if (!stripe) throw new Error('there is no Stripe');
    return stripe.paid();
  };
  const post = async ({ headers, body }: Post): Promise<number> => {
    const call = stage.service.call('post', '/payments/stripe/notify', body.toString(), null);
    for (const [name, value] of Object.entries(headers)) void call.set(name, value);
    return (await call).status;
  };
  const forged = (): Post => ({ ...genuine(), body: Buffer.from('{"id":"evt_forged"}') });
  const atOnce = (count: number, send: () => Promise<number>): Promise<number[]> =>
    Promise.all(Array.from({ length: count }, send));
  const guess = async (from?: string): Promise<number> => {
    const call = stage.service.call('get', '/orders/nobody', undefined, 'a guess');
    if (from !== undefined) void call.set('x-forwarded-for', from);
    return (await call).status;
  };

  it('does not keep genuine ones of the same address out', async () => {
    await open();
    const [forgeries, payments] = await Promise.all([
      (async () => {
        const sent: Promise<number>[] = [];
        for (let burst = 0; burst < 20; burst++) {
          sent.push(...Array.from({ length: 9 }, () => post(forged())));
          await pause(WINDOW_MS / 10);
        }
        return tally(await Promise.all(sent));
      })(),
      (async () => {
        const statuses: number[] = [];
        for (let copy = 0; copy < 40; copy++) {
          statuses.push(await post(genuine()));
          await pause(WINDOW_MS / 20);
        }
        return tally(statuses);
      })(),
    ]);
    expect(payments).toEqual({ 200: 40 });
    expect(Object.keys(forgeries)).toEqual(['400', '429']);
    const { body } = await stage.service.call('get', '/orders/seed-stripe').expect(200);
    expect(body).toMatchObject({ status: 'PAID', attempts: [{ status: 'PAID' }] });
  });

  it('is answered 429 beyond its budget, which is not that of wrong API keys', async () => {
    await open({ RATE_LIMIT_FORGERIES_PER_SECOND: '3', RATE_LIMIT_FAILURES_PER_SECOND: '3' });
    expect(tally(await atOnce(40, () => post(forged())))).toMatchObject({ 429: expect.any(Number) as number });
    expect(await atOnce(3, guess)).toEqual([401, 401, 401]);
    expect(tally(await atOnce(40, guess))).toMatchObject({ 429: expect.any(Number) as number });
    expect(await post(genuine())).toBe(200);
    await until(async () => (await post(forged())) === 400);
    expect(tally(await atOnce(40, guess))).toMatchObject({ 429: expect.any(Number) as number });
    expect(await atOnce(2, () => post(forged()))).toEqual([400, 400]);
  });

  it('is the connection, whatever its headers say', async () => {
    await open({ RATE_LIMIT_FAILURES_PER_SECOND: '3' });
    const guesses = await Promise.all(Array.from({ length: 40 }, (_, index) => guess(`198.51.100.${index}`)));
    expect(tally(guesses)).toMatchObject({ 429: expect.any(Number) as number });
  });

  it.each(['1', 'loopback', '127.0.0.0/8,::1'])(
    'is the client that the proxy names with TRUST_PROXY=%s',
    async (trusted) => {
      await open({ RATE_LIMIT_FAILURES_PER_SECOND: '3', TRUST_PROXY: trusted });
      // What is further left came from the client itself, and is not believed.
      const guesses = await Promise.all(
        Array.from({ length: 40 }, (_, index) => guess(`203.0.113.${index}, 198.51.100.1`)),
      );
      expect(tally(guesses)).toMatchObject({ 429: expect.any(Number) as number });
      expect(await atOnce(3, () => guess('198.51.100.2'))).toEqual([401, 401, 401]);
    },
  );
});

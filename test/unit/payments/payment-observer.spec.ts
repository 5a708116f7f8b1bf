import { Logger } from '@nestjs/common';
import { SystemClock } from '../../../src/clock';
import { ResilientProvider, PaymentObservers, type PaymentProvider, type QueryOutcome } from '../../../src/payments';
import { anAttempt } from './an-attempt';
import { ManualClock } from '../../support/manual-clock';

function resilient(outcome: QueryOutcome) {
  const seen: string[] = [];
  const observers = new PaymentObservers();
  observers.add({ untrusted: (provider, source, reason) => seen.push(`${provider} ${source} ${reason}`) });
  const provider: PaymentProvider = {
    name: 'fake',
    query: async () => outcome,
    close: async () => ({ type: 'CLOSED' }),
    refund: async () => ({ type: 'PENDING' }),
    resilienceDefaults: { timeoutMs: 1_234 },
  };
  return { seen, resilientProvider: new ResilientProvider(provider, new SystemClock(), {}, observers) };
}

const ask = (provider: ResilientProvider) => provider.query(anAttempt(), new AbortController().signal);

describe('the limits of a provider', () => {
  it('are its own where an option is undefined', () => {
    const { resilientProvider: given } = resilient({ type: 'OPEN' });
    const inner: PaymentProvider = Object.assign(given, { resilienceDefaults: { ratePerSecond: 7 } });
    const limited = new ResilientProvider(inner, new SystemClock(), {
      ratePerSecond: undefined,
      concurrency: 3,
    } as never);
    expect(limited.configuredPerSecond).toBe(7);
  });
});

describe('an untrusted answer', () => {
  it('is reported to the observers with provider and reason, and stays UNKNOWN', async () => {
    const { seen, resilientProvider } = resilient({
      type: 'UNKNOWN',
      reason: 'its signature is wrong',
      untrusted: true,
    });
    expect(await ask(resilientProvider)).toMatchObject({ type: 'UNKNOWN' });
    expect(seen).toEqual(['fake answer its signature is wrong']);
  });

  it('is not reported for an outage or a valid answer', async () => {
    for (const outcome of [{ type: 'UNKNOWN', reason: 'down', outage: true }, { type: 'OPEN' }] as const) {
      const { seen, resilientProvider } = resilient(outcome);
      await ask(resilientProvider);
      expect(seen).toEqual([]);
    }
  });
});

describe('a flood of forgeries', () => {
  const warn = jest.spyOn(Logger.prototype, 'warn');
  beforeEach(() => warn.mockReset());
  afterAll(() => warn.mockRestore());

  it('reaches every observer, but the log gets only 20 lines per second and the number of the others', async () => {
    const clock = new ManualClock();
    const observers = new PaymentObservers(clock);
    let seen = 0;
    observers.add({ untrusted: () => (seen += 1) });
    const flood = (count: number): void => {
      for (let sent = 0; sent < count; sent++) observers.untrusted('stripe', 'notification', 'not signed');
    };
    flood(5_000);
    expect(warn).toHaveBeenCalledTimes(20);
    await clock.pass(1_000);
    flood(1);
    expect(seen).toBe(5_001);
    expect(warn.mock.calls.slice(20)).toEqual([
      ['4980 more untrusted answers or notifications were not logged'],
      ['stripe: untrusted notification: not signed'],
    ]);
  });
});

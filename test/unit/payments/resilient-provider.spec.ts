import { getMaxListeners } from 'node:events';
import { Logger } from '@nestjs/common';
import { InvalidOptionsError } from '../../../src/errors';
import {
  ResilientProvider,
  type ResilienceOptions,
  type PaymentProvider,
  type QueryOutcome,
} from '../../../src/payments';
import { anAttempt } from './an-attempt';
import { ManualClock } from '../../support/manual-clock';

type Answer = (signal: AbortSignal) => Promise<QueryOutcome>;

const never = new AbortController().signal;
const open: Answer = () => Promise.resolve({ type: 'OPEN' });
const down: Answer = () => Promise.resolve({ type: 'UNKNOWN', reason: 'status 503', outage: true });
const puzzled: Answer = () => Promise.resolve({ type: 'UNKNOWN', reason: 'odd status' });
const limited: Answer = () => Promise.resolve({ type: 'UNKNOWN', reason: 'status 429', outage: false });
const throws: Answer = () => Promise.reject(new Error('socket hang up'));
const hangs: Answer = () => new Promise(() => undefined);

/** A provider whose answer can be changed, behind a ResilientProvider on a manual clock. */
function resilient(options: ResilienceOptions = {}) {
  const clock = new ManualClock();
  const script = { answer: open, calls: 0 };
  const inner: PaymentProvider = {
    name: 'pay',
    query: (_, signal) => {
      script.calls += 1;
      return script.answer(signal);
    },
    close: () => Promise.resolve({ type: 'CLOSED' }),
    refund: (_, signal) => {
      script.calls += 1;
      return script.answer(signal).then(() => ({ type: 'REFUNDED', refundId: 're-1', evidence: {} }));
    },
  };
  const provider = new ResilientProvider(inner, clock, { breakerThreshold: 3, ...options });
  const ask = (signal = never, merchantAccount?: string) =>
    provider.query(anAttempt(merchantAccount === undefined ? {} : { merchantAccount }), signal);
  return { clock, script, provider, ask };
}

describe('ResilientProvider', () => {
  it('passes on the outcomes and the name of the provider', async () => {
    const { provider, ask } = resilient();
    expect(provider.name).toBe('pay');
    expect(await ask()).toEqual({ type: 'OPEN' });
    expect(await provider.close(anAttempt(), never)).toEqual({ type: 'CLOSED' });
  });

  it('reports all invalid options at once', () => {
    const build = (): unknown => resilient({ timeoutMs: 0, concurrency: 1.5 });
    expect(build).toThrow(InvalidOptionsError);
    expect(build).toThrow(/2 problems: resilience.pay.timeoutMs must .*; resilience.pay.concurrency must /);
  });

  it('maps a rejected promise to UNKNOWN with its message', async () => {
    const { script, ask } = resilient();
    script.answer = throws;
    expect(await ask()).toEqual({ type: 'UNKNOWN', reason: 'call failed: socket hang up' });
  });

  it('maps a synchronous exception to UNKNOWN too', async () => {
    const { script, ask } = resilient();
    script.answer = () => {
      throw new TypeError('no such merchant');
    };
    expect(await ask()).toMatchObject({ type: 'UNKNOWN', reason: 'call failed: no such merchant' });
  });

  it('returns UNKNOWN after the time-out even if the provider ignores its signal', async () => {
    const { clock, script, ask } = resilient({ timeoutMs: 5_000 });
    let seen: AbortSignal | undefined;
    script.answer = (signal) => {
      seen = signal;
      return hangs(signal);
    };
    const answer = ask();
    await clock.pass(4_999);
    expect(seen?.aborted).toBe(false);
    await clock.pass(1);
    expect(await answer).toEqual({ type: 'UNKNOWN', reason: 'no answer within 5000 ms', outage: true });
    expect(seen?.aborted).toBe(true);
  });

  it('ends at once when the caller aborts, leaves no timer, and counts no outage', async () => {
    const { clock, script, provider, ask } = resilient({ breakerThreshold: 1 });
    script.answer = hangs;
    const caller = new AbortController();
    const answer = ask(caller.signal);
    await clock.pass(10);
    caller.abort();
    expect(await answer).toMatchObject({ type: 'UNKNOWN' });
    expect(clock.pendingTimers).toBe(0);
    expect(provider.breakerState).toBe('closed');
  });

  describe('logs', () => {
    const lines: string[] = [];

    beforeEach(() => {
      lines.length = 0;
      jest.spyOn(Logger.prototype, 'log').mockImplementation((line: string) => void lines.push(`log: ${line}`));
      jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: string) => void lines.push(`warn: ${line}`));
    });

    afterEach(() => jest.restoreAllMocks());

    it.each([
      ['does not answer', down, 'status 503'],
      ['throws', throws, 'call failed: socket hang up'],
      ['hangs', hangs, 'no answer within 5000 ms'],
      ['says nothing clear', puzzled, 'odd status'],
    ])('once that it begins to fail, and once that it answers again, if it %s', async (_, answer, reason) => {
      const { clock, script, ask } = resilient({ breakerOpenMs: 1 });
      script.answer = answer;
      for (let i = 0; i < 10; i++) {
        const asked = ask();
        await clock.pass(5_001);
        await asked;
      }
      expect(lines).toEqual([`warn: begins to fail: ${reason}`]);
      script.answer = open;
      for (let i = 0; i < 3; i++) await ask();
      expect(lines).toEqual([`warn: begins to fail: ${reason}`, 'log: answers again']);
    });

    it('at most one beginning a minute, of a provider that answers now and then', async () => {
      const { clock, script, ask } = resilient({ breakerOpenMs: 1 });
      const failThenAnswer = async (): Promise<void> => {
        for (const answer of [...Array<typeof down>(10).fill(down), open]) {
          script.answer = answer;
          await clock.pass(2);
          await ask();
        }
      };
      for (let i = 0; i < 5; i++) await failThenAnswer();
      const once = ['warn: begins to fail: status 503', 'log: answers again'];
      expect(lines).toEqual(once);
      await clock.pass(60_000);
      await failThenAnswer();
      expect(lines).toEqual([...once, ...once]);
    });

    it('nothing of single failures, and of calls that it never made or that their caller gave up', async () => {
      const { clock, script, provider, ask } = resilient();
      for (let i = 0; i < 10; i++) {
        script.answer = i % 3 === 0 ? open : down;
        await ask();
      }
      script.answer = hangs;
      for (let i = 0; i < 5; i++) {
        const caller = new AbortController();
        const asked = ask(caller.signal);
        await clock.pass(10);
        caller.abort();
        await asked;
      }
      provider.restrict({ paused: true });
      for (let i = 0; i < 5; i++) await ask();
      expect(lines).toEqual([]);
    });
  });

  describe('circuit breaker', () => {
    it.each([
      ['outages', down, 'status 503'],
      ['throws', throws, 'call failed: socket hang up'],
    ])('opens after consecutive %s, makes no calls, and tells what the last one met', async (_, answer, met) => {
      const { script, provider, ask } = resilient({ breakerOpenMs: 2_000 });
      script.answer = answer;
      for (let i = 0; i < 3; i++) await ask();
      expect(provider.breakerState).toBe('open');
      expect(await ask()).toMatchObject({
        type: 'UNKNOWN',
        reason: `provider is down: circuit breaker is open (${met})`,
        retryAfterMs: 2_000,
      });
      expect(script.calls).toBe(3);
    });

    it('calls a provider that is back within 2 s by default', async () => {
      const { clock, script, provider, ask } = resilient();
      script.answer = down;
      for (let i = 0; i < 3; i++) await ask();
      script.answer = open;
      await clock.pass(2_000);
      expect(await ask()).toEqual({ type: 'OPEN' });
      expect(provider.breakerState).toBe('closed');
    });

    it('opens after time-outs', async () => {
      const { clock, script, provider, ask } = resilient({ timeoutMs: 100, breakerThreshold: 1 });
      script.answer = hangs;
      void ask();
      await clock.pass(100);
      expect(provider.breakerState).toBe('open');
    });

    it.each([
      ['odd', puzzled],
      ['rate limits', limited],
    ])('stays closed if answers are %s but the provider is up', async (_, answer) => {
      const { script, provider, ask } = resilient();
      script.answer = answer;
      for (let i = 0; i < 10; i++) await ask();
      expect(provider.breakerState).toBe('closed');
    });

    it('starts counting again after a good answer', async () => {
      const { script, provider, ask } = resilient();
      for (const answer of [down, down, open, down, down]) {
        script.answer = answer;
        await ask();
      }
      expect(provider.breakerState).toBe('closed');
    });

    it('lets one call test the provider after the pause and closes if it succeeds, even if the wall clock was set back', async () => {
      const { clock, script, provider, ask } = resilient({ breakerOpenMs: 2_000 });
      script.answer = down;
      for (let i = 0; i < 3; i++) await ask();
      clock.wallOffsetMs -= 3_600_000;
      await clock.pass(2_000);
      script.answer = open;
      expect(await ask()).toEqual({ type: 'OPEN' });
      expect(provider.breakerState).toBe('closed');
    });

    it('sends only one call to a recovering provider; other calls are told to come back later', async () => {
      const { clock, script, provider, ask } = resilient({ breakerOpenMs: 2_000, timeoutMs: 500 });
      script.answer = down;
      for (let i = 0; i < 3; i++) await ask();
      await clock.pass(2_000);
      script.answer = hangs;
      const test = ask();
      await clock.pass(0);
      expect(provider.breakerState).toBe('half-open');
      expect(await ask()).toMatchObject({
        reason: 'provider is being tested again after an outage (status 503)',
        retryAfterMs: 1_000,
      });
      expect(script.calls).toBe(4);
      await clock.pass(500);
      expect(await test).toMatchObject({ outage: true });
      expect(provider.breakerState).toBe('open');
    });

    it('is not closed by a test call whose caller gives up', async () => {
      const { clock, script, provider, ask } = resilient({ breakerOpenMs: 2_000 });
      script.answer = down;
      for (let i = 0; i < 3; i++) await ask();
      await clock.pass(2_000);
      script.answer = hangs;
      const caller = new AbortController();
      const test = ask(caller.signal);
      await clock.pass(0);
      caller.abort();
      expect(await test).toMatchObject({ type: 'UNKNOWN' });
      expect(provider.breakerState).toBe('open');
    });
  });

  describe('limits', () => {
    it('limits calls in flight to the concurrency and starts the next as soon as one ends', async () => {
      const { clock, script, ask } = resilient({ concurrency: 2 });
      const ends: (() => void)[] = [];
      script.answer = () => new Promise((resolve) => ends.push(() => resolve({ type: 'OPEN' })));
      const answers = [ask(), ask(), ask()];
      await clock.pass(0);
      expect(script.calls).toBe(2);
      ends[0]?.();
      await clock.pass(0);
      expect(script.calls).toBe(3);
      ends.forEach((end) => end());
      expect(await Promise.all(answers)).toHaveLength(3);
    });

    it('passes the slot on if a waiting caller gave up, so the queue does not stall', async () => {
      const { clock, script, ask } = resilient({ concurrency: 1, maxWaitMs: 3_000 });
      let end: () => void = () => undefined;
      script.answer = () => new Promise((resolve) => (end = () => resolve({ type: 'OPEN' })));
      const impatient = new AbortController();
      const [first, second, third] = [ask(), ask(impatient.signal), ask()];
      await clock.pass(0);
      impatient.abort();
      expect(await second).toMatchObject({ type: 'UNKNOWN' });
      script.answer = open;
      end();
      expect(await first).toEqual({ type: 'OPEN' });
      expect(await third).toEqual({ type: 'OPEN' });
      expect(script.calls).toBe(2);
    });

    it('refuses a call that waited too long for a slot, and a call if the queue is full', async () => {
      const { clock, script, ask } = resilient({ concurrency: 1, queueLimit: 1, maxWaitMs: 300 });
      script.answer = hangs;
      void ask();
      const waiting = ask();
      await clock.pass(0);
      expect(await ask()).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching('full') as string });
      await clock.pass(300);
      expect(await waiting).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching('expired') as string });
    });

    it('lets any number of calls share one signal without a leak warning', async () => {
      const { ask } = resilient();
      const shared = new AbortController();
      await ask(shared.signal);
      // Not by spying on the warning: jest gives tests a copy of `process`, which is not the one that warns.
      expect(getMaxListeners(shared.signal)).toBe(Infinity);
    });

    it('makes no call while an operator has paused the provider', async () => {
      const { clock, script, provider, ask } = resilient();
      provider.restrict({ paused: true });
      const reason = 'an operator has paused the provider';
      const refused = { type: 'UNKNOWN', reason, retryAfterMs: 5_000, paused: true };
      for (let call = 0; call < 10; call++) expect(await ask()).toEqual(refused);
      // A long pause must not cost a look-up of each order every few seconds.
      await clock.pass(5 * 60_000);
      provider.restrict({ paused: true, perSecond: 2 });
      expect(await ask()).toMatchObject({ retryAfterMs: 15_000 });
      await clock.pass(55 * 60_000);
      expect(await ask()).toMatchObject({ retryAfterMs: 60_000 });
      expect([script.calls, provider.breakerState]).toEqual([0, 'closed']);
      provider.restrict({ paused: false });
      expect(await ask()).toEqual({ type: 'OPEN' });
    });

    it('follows the limit of an operator, until it is taken back', async () => {
      const { provider, ask } = resilient({ ratePerSecond: 100, maxWaitMs: 0 });
      provider.restrict({ perSecond: 2 });
      expect([await ask(), await ask()]).toEqual([{ type: 'OPEN' }, { type: 'OPEN' }]);
      // What is in force stays as it is.
      provider.restrict({ paused: false, perSecond: 2 });
      expect(await ask()).toMatchObject({ type: 'UNKNOWN', retryAfterMs: 500 });
      provider.restrict({});
      expect(await Promise.all(Array.from({ length: 100 }, () => ask()))).toEqual(Array(100).fill({ type: 'OPEN' }));
      expect(provider.configuredPerSecond).toBe(100);
    });

    it('limits the rate of each merchant account separately', async () => {
      const { ask } = resilient({ ratePerSecond: 1, maxWaitMs: 0 });
      expect(await ask(never, 'shop-a')).toEqual({ type: 'OPEN' });
      expect(await ask(never, 'shop-a')).toMatchObject({ type: 'UNKNOWN', retryAfterMs: 1_000 });
      expect(await ask(never, 'shop-b')).toEqual({ type: 'OPEN' });
    });
  });
});

import { setMaxListeners } from 'node:events';
import { CATALOGUE } from '../scenarios/catalogue';
import { hasPassed, renderResult } from '../scenarios/render-result';
import { runScenarios } from '../scenarios/run-scenarios';
import { PROVIDERS } from '../scenarios/scenario';
import { stretched } from '../support/machine-load';

/** One of each kind; `npm run suite -- scenarios` plays them all, and the outages. */
const QUICK = [
  'pays-in-time',
  'notify-lost',
  'last-second',
  'pays-between-query-and-close',
  'never-pays',
  'close-response-lost',
  'close-answers-bare-500',
  'forged-answers',
  'late-revived',
  'late-stock-sold',
  'late-goes-back',
  'two-providers-both-paid',
  'partial-payment',
  'cancel-while-paying',
  'forged-notification',
  'report-net-of-coupon',
  'two-names',
];
const SEED = 7;
/** It takes about a minute on a quiet machine. */
const LIMIT_MS = stretched(300_000);

describe('payment scenarios, played for real at Alipay, WeChat Pay and Stripe', () => {
  it(
    'leave no buyer charged without goods, no stock wrong, and no order open',
    async () => {
      const controller = new AbortController();
      // Every order that waits listens; Node would take the 11th for a leak.
      setMaxListeners(0, controller.signal);
      const scenarios = CATALOGUE.filter(({ name }) => QUICK.includes(name));
      expect(scenarios).toHaveLength(QUICK.length);
      const options = { seed: SEED, providers: PROVIDERS, scenarios, each: 2, perSecond: 20, hasOutage: false };
      const result = await runScenarios({ options, signal: controller.signal, say: () => undefined });
      expect(hasPassed(result) ? 'PASS' : renderResult(result, SEED)).toBe('PASS');
    },
    LIMIT_MS,
  );
});

import { type FaultInput } from 'nestjs-order-timeout-payment-simulator';
import { type Random } from '../../support/buyers/random';
import { type Plan, type ProviderName, type Scenario } from '../scenario';

/** Half of the buyers have paid, and nobody but the troubled provider knows. */
function inTrouble(random: Random, faults: readonly FaultInput[], untrustedAnswers = 0): Plan {
  const windowMs = 2_500;
  const isPaid = random.next() < 0.5;
  const script = isPaid ? ({ buyer: 'pays-after', ms: random.between(300, 2_000) } as const) : undefined;
  return {
    windowMs,
    ends: { status: [isPaid ? 'PAID' : 'CLOSED'], untrustedAnswers },
    // The simulator spoils an answer's id with one of an intent.
    payments: [{ ...(script && { script }), faults: [...faults], notify: { lost: true }, ...spoiledAs(faults) }],
  };
}

function spoiledAs(faults: readonly FaultInput[]): { isIntent?: true } {
  return faults.some(({ fault }) => fault === 'wrong-reference') ? { isIntent: true } : {};
}

/** What a provider whose answers are signed can be forged with; Stripe's are not, so they only lie about whom they are. */
function forgeryOf(random: Random, provider: ProviderName): 'wrong-signature' | 'unsigned' | 'wrong-reference' {
  if (provider === 'stripe') return 'wrong-reference';
  return (['wrong-signature', 'unsigned', 'wrong-reference'] as const)[random.between(0, 2)] ?? 'unsigned';
}

/** The provider or the network is in trouble around the deadline. */
export const TROUBLED_PROVIDERS: readonly Scenario[] = [
  {
    name: 'query-garbage',
    says: 'the first two answers are not what anybody could read',
    plan: (random) => inTrouble(random, [{ fault: 'garbage', on: 'query', times: 2 }]),
  },
  {
    name: 'query-unrecognized',
    says: 'the first two answers are verified, and say a word that nobody knows',
    plan: (random) => inTrouble(random, [{ fault: 'unrecognised', on: 'query', times: 2 }]),
  },
  {
    name: 'forged-answers',
    says: 'the first two answers are unsigned, signed wrongly, or about something else',
    plan: (random, provider) => inTrouble(random, [{ fault: forgeryOf(random, provider), on: 'query', times: 2 }], 2),
  },
  {
    name: 'provider-clock-off',
    says: "the provider's clock is off by an hour, and then right again",
    providers: ['wechat-pay'],
    plan: (random) => inTrouble(random, [{ fault: 'skewed-clock', seconds: -3_600, times: 2 }], 2),
  },
  {
    name: 'provider-slow',
    says: 'every answer takes 2 s',
    plan: (random) => {
      const phase = random.next() < 0.5 ? 'before-effect' : 'after-effect';
      return inTrouble(random, [{ fault: 'latency', ms: 2_000, phase }]);
    },
  },
  {
    name: 'provider-hangs-once',
    says: 'the first question is never answered',
    plan: (random) => inTrouble(random, [{ fault: 'hang', times: 1 }]),
  },
  {
    name: 'connection-cut',
    says: 'the first two connections are cut',
    plan: (random) => inTrouble(random, [{ fault: 'drop', times: 2 }]),
  },
  {
    name: 'provider-down-15s',
    says: 'the provider is down for 15 s around the deadline',
    plan: (random) => inTrouble(random, [{ fault: 'error', status: 503, afterMs: 2_000, forMs: 15_000 }]),
  },
];

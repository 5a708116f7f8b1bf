import { type FaultInput, PaymentSimulator } from 'nestjs-order-timeout-payment-simulator';
import { SystemClock } from '../../../../src/clock';
import { StripeProvider } from '../../../../src/payments/stripe';
import { type ConformanceFault, describePaymentProvider, type PaymentProviderBench } from '../../../../src/testing';
import { anAttempt } from '../an-attempt';
import { StripeBench } from './stripe-bench';

/** Stripe's answers are not signed, so there is none to forge: TLS keeps others from answering. */
const FAULTS: Readonly<Partial<Record<ConformanceFault, FaultInput>>> = {
  silent: { fault: 'hang' },
  failing: { fault: 'error' },
  'answers-lost': { fault: 'lost-response' },
};

describe.each([
  ['payment intents', 'pi'],
  ['checkout sessions', 'cs'],
] as const)('StripeProvider with %s', (_, kind) => {
  let stripe: StripeBench;
  let bench: PaymentProviderBench;

  beforeAll(async () => {
    stripe = await new StripeBench().start();
    bench = {
      provider: stripe.provider(),
      openAttempt: async () => stripe.attempt(kind),
      unknownAttempt: async () => ({ ...stripe.attempt(kind), reference: `${kind}_never_made` }),
      pay: async (attempt) => stripe.pay(attempt),
      refunded: async (attempt) => BigInt(stripe.payment(attempt).entry(Date.now()).refundedAmount),
      inject: async (fault) => {
        const input = FAULTS[fault];
        if (!input) throw new Error(`no ${fault} here`);
        stripe.fault(input);
        return async () => stripe.faults.clear();
      },
    };
  });
  afterAll(() => stripe.stop());

  const cases = describePaymentProvider(() => bench, Object.keys(FAULTS) as ConformanceFault[]);
  it.each(cases)('$name', (one) => one.run());
});

describe('StripeProvider with the whole simulator', () => {
  const simulator = new PaymentSimulator();
  afterAll(() => simulator.close());

  it('works with payments that a shop created, and with the merchants of the simulator', async () => {
    const baseUrl = `${await simulator.listen()}/stripe`;
    const merchants = simulator.merchants.stripe;
    const provider = new StripeProvider({ merchants, baseUrl }, new SystemClock());
    const response = await fetch(`${baseUrl}/v1/payment_intents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${merchants['shop']?.secretKey ?? ''}` },
      body: new URLSearchParams({ amount: '1999', currency: 'eur' }),
    });
    const { id: reference } = (await response.json()) as { id: string };
    const attempt = anAttempt({ provider: 'stripe', reference });
    expect(await provider.query(attempt, AbortSignal.timeout(5_000))).toMatchObject({ type: 'OPEN' });
    expect(await provider.close(attempt, AbortSignal.timeout(5_000))).toMatchObject({ type: 'CLOSED' });
    expect(simulator.ledger()).toMatchObject([{ provider: 'stripe', reference, status: 'CLOSED', winner: 'shop' }]);
  });
});

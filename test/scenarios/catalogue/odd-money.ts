import { PROVIDERS, type ProviderName, type Scenario } from '../scenario';

/** Somebody else than the provider of the column. */
function anotherProvider(provider: ProviderName): ProviderName {
  return PROVIDERS[(PROVIDERS.indexOf(provider) + 1) % PROVIDERS.length] ?? provider;
}

/** More payments than one, or not the money that was asked for. */
export const ODD_MONEY: readonly Scenario[] = [
  {
    name: 'two-attempts-one-paid',
    says: 'the buyer opens two payment pages and pays on the second',
    plan: (random) => ({
      windowMs: 3_000,
      ends: { status: ['PAID'] },
      payments: [{}, { script: { buyer: 'pays-after', ms: random.between(500, 2_500) } }],
    }),
  },
  {
    name: 'two-providers-both-paid',
    says: 'the buyer pays at two providers in the same moment; one of the payments goes back',
    plan: (random, provider) => {
      // In the same moment, when the stories of both have begun: the service closes the other as soon as it hears of one.
      const script = { buyer: 'pays-after', ms: random.between(1_500, 2_500) } as const;
      const notify = () => ({ lost: random.next() < 0.5 });
      return {
        windowMs: 4_000,
        ends: { status: ['PAID'], refunds: 1 },
        payments: [
          { script, notify: notify() },
          { script, notify: notify(), provider: anotherProvider(provider) },
        ],
      };
    },
  },
  {
    name: 'partial-payment',
    says: 'the buyer pays less; it goes back, and the order closes',
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED_REFUNDED'], refunds: 1, unmatched: [] },
      payments: [
        {
          script: { buyer: 'pays-after', ms: random.between(300, 1_500) },
          partialAmount: random.between(1, 99),
          notify: { lost: true },
        },
      ],
    }),
  },
  {
    name: 'partial-payment-told',
    says: 'the same, and the provider says so before the deadline',
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED_REFUNDED'], refunds: 1, unmatched: ['amount-mismatch/refunding'] },
      payments: [
        { script: { buyer: 'pays-after', ms: random.between(300, 1_500) }, partialAmount: random.between(1, 99) },
      ],
    }),
  },
  {
    name: 'overpaid',
    says: 'the buyer pays more, the notification comes or is lost; what is too much goes back, the order keeps its price',
    plan: (random) => ({
      windowMs: 2_500,
      merchantId: 'shop-refund',
      ends: { status: ['PAID'], refunds: 1, unmatched: ['overpaid/refunding'], attempts: ['PAID'] },
      payments: [
        {
          script: { buyer: 'pays-after', ms: random.between(300, 1_500) },
          partialAmount: random.between(50_000, 99_999),
          notify: { lost: random.next() < 0.5 },
        },
      ],
    }),
  },
  {
    name: 'wrong-currency',
    // Elsewhere an answer in another currency is not trusted: Alipay and WeChat Pay settle in CNY only.
    providers: ['stripe'],
    says: 'the buyer pays in another currency; it goes back, and the order closes',
    plan: (random) => ({
      windowMs: 2_500,
      ends: { status: ['CLOSED_REFUNDED'], refunds: 1, unmatched: [] },
      payments: [
        {
          script: { buyer: 'pays-after', ms: random.between(300, 1_500) },
          paidCurrency: 'USD',
          notify: { lost: true },
        },
      ],
    }),
  },
  {
    name: 'cancel-while-paying',
    says: 'the buyer cancels in the moment in which he pays',
    plan: (random) => {
      const paysAt = random.between(500, 1_500);
      return {
        windowMs: 4_000,
        ends: { status: ['PAID', 'CANCELLED'] },
        payments: [{ script: { buyer: 'pays-after', ms: paysAt }, notify: { lost: random.next() < 0.5, delayMs: 50 } }],
        act: async (cast) => {
          await cast.at(paysAt + random.between(-40, 40));
          await cast.cancel();
        },
      };
    },
  },
];

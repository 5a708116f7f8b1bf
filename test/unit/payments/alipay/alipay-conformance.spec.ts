import { randomUUID } from 'node:crypto';
import { type FaultInput, type PaymentInput, PaymentSimulator } from 'nestjs-order-timeout-payment-simulator';
import { SystemClock } from '../../../../src/clock';
import { type PaymentAttemptRef } from '../../../../src/payments';
import { AlipayProvider } from '../../../../src/payments/alipay';
import { type ConformanceFault, describePaymentProvider, type PaymentProviderBench } from '../../../../src/testing';
import { AlipayProtocol, generateAlipayMerchants } from '../../../../packages/payment-simulator/src/alipay';
import { anAttempt } from '../an-attempt';

const FAULTS: Readonly<Record<ConformanceFault, FaultInput>> = {
  silent: { fault: 'hang' },
  failing: { fault: 'error', status: 503 },
  forged: { fault: 'wrong-signature' },
  'answers-lost': { fault: 'lost-response' },
};
const NAMES = Object.keys(FAULTS) as ConformanceFault[];

describe('AlipayProvider at the payment simulator', () => {
  const alipay = generateAlipayMerchants();
  let protocol: AlipayProtocol | undefined;
  const simulator = new PaymentSimulator({
    protocols: (context) => [(protocol = new AlipayProtocol(context, alipay))],
  });
  let bench: PaymentProviderBench;
  let baseUrl = '';

  const script = (path: string, body: PaymentInput | FaultInput | object = {}, method = 'POST') =>
    fetch(`${baseUrl}/script/${path}`, { method, ...(method === 'POST' && { body: JSON.stringify(body) }) });
  const anyAttempt = (): PaymentAttemptRef =>
    anAttempt({ provider: 'alipay', reference: randomUUID(), amount: 8_888n, currency: 'CNY' });
  const entryOf = ({ reference }: PaymentAttemptRef) => simulator.ledger().find((one) => one.reference === reference);

  beforeAll(async () => {
    baseUrl = await simulator.listen();
    const merchants = Object.entries(alipay).map(([account, { appId, sellerId, privateKey, alipayPublicKey }]) => {
      return [account, { appId, sellerId, privateKey, alipayPublicKey }] as const;
    });
    const gateway = `${baseUrl}/alipay/gateway.do`;
    bench = {
      provider: new AlipayProvider({ gateway, merchants: Object.fromEntries(merchants) }, new SystemClock()),
      openAttempt: async () => {
        const attempt = anyAttempt();
        const { provider, reference, amount, currency } = attempt;
        await script('payments', { provider, reference, amount: String(amount), currency });
        return attempt;
      },
      unknownAttempt: async () => anyAttempt(),
      pay: async ({ reference }) => (await script(`payments/alipay/${reference}/pay`)).ok,
      refunded: async (attempt) => BigInt(entryOf(attempt)?.refundedAmount ?? 0),
      inject: async (fault) => {
        await script('faults', FAULTS[fault]);
        return async () => void (await script('faults', {}, 'DELETE'));
      },
    };
  });
  afterAll(() => simulator.close());

  it.each(describePaymentProvider(() => bench, NAMES))('$name', (one) => one.run());

  it('never canceled a trade in any case', () => {
    expect(simulator.ledger().length).toBeGreaterThan(NAMES.length);
    expect(protocol?.cancels).toBe(0);
  });
});

import { Registry } from 'prom-client';
import { PaymentMetrics } from '../../../src/operations/state-metrics';
import { type PaymentProviders } from '../../../src/payments';

describe('PaymentMetrics', () => {
  it('count untrusted messages of every provider from 0, so that the first one is an increase', async () => {
    const registry = new Registry();
    const providers: Pick<PaymentProviders, 'names' | 'get'> = { names: () => ['bank'], get: () => undefined };
    const metrics = new PaymentMetrics(registry, providers as PaymentProviders);
    const answers = 'order_timeout_untrusted_total{provider="bank",source="answer"}';
    const notifications = 'order_timeout_untrusted_total{provider="bank",source="notification"}';
    const before = await registry.metrics();
    expect(before).toContain(`${answers} 0`);
    expect(before).toContain(`${notifications} 0`);
    metrics.untrusted('bank', 'notification');
    const after = await registry.metrics();
    expect(after).toContain(`${answers} 0`);
    expect(after).toContain(`${notifications} 1`);
  });
});

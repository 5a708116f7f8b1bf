import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stretched } from '../support/machine-load';

const run = promisify(execFile);

/**
 * In plain Node and from the build, as jest's own global object hides it: alipay-sdk replaces what the built-in fetch
 * works with, for the whole process.
 */
const PROGRAM = `
  const { AlipayProvider } = require('./dist/payments/alipay');
  const { StripeProvider } = require('./dist/payments/stripe');
  const { SystemClock } = require('./dist');
  const { PaymentSimulator } = require('./packages/payment-simulator');
  (async () => {
    const simulator = new PaymentSimulator();
    const baseUrl = await simulator.listen();
    const provider = new StripeProvider({ merchants: simulator.merchants.stripe, baseUrl: baseUrl + '/stripe' }, new SystemClock());
    const payment = { provider: 'stripe', reference: 'pi_1', amount: 1999, currency: 'EUR', merchantAccount: 'shop' };
    await fetch(baseUrl + '/script/payments', { method: 'POST', body: JSON.stringify(payment) });
    const attempt = { ...payment, amount: 1999n, createdAt: new Date(), merchantAccount: 'shop' };
    const outcome = await provider.close(attempt, AbortSignal.timeout(10_000));
    await simulator.close();
    console.log(typeof AlipayProvider, JSON.stringify(outcome));
  })();`;

describe('the SDKs in one process', () => {
  it('leave Stripe its requests beside Alipay', async () => {
    const { stdout } = await run(process.execPath, ['-e', PROGRAM], {
      cwd: join(__dirname, '../..'),
      timeout: stretched(25_000),
    });
    expect(stdout).toMatch(/^function \{"type":"CLOSED"/);
  });
});

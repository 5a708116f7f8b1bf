import { generateAlipayMerchants } from './alipay';
import { SIMULATOR_SECRET } from './merchant-secrets';
import { PaymentSimulator } from './payment-simulator';
import { type SimulatedMerchants } from './simulated-merchants';
import { generateStripeMerchants } from './stripe';
import { generateWechatPayMerchants } from './wechat-pay';

/**
 * The payment simulator as a process. Environment: PAYMENT_SIMULATOR_PORT (any free one), PAYMENT_SIMULATOR_HOST
 * (127.0.0.1), PAYMENT_SIMULATOR_SECRET, PAYMENT_SIMULATOR_NAME (simulator), PAYMENT_SIMULATOR_RETRY_SPEED_UP (1),
 * PAYMENT_SIMULATOR_ACCOUNTS (merchant accounts of every other protocol, e.g. `shop-a,shop-b`; one called shop).
 * Prints one line `{"url":"http://..."}` when it listens; `GET /script/merchants` there shows the keys. Ends at
 * SIGTERM or SIGINT, and with its parent if that holds an IPC channel to it.
 */
async function run(): Promise<void> {
  const { env } = process;
  const simulator = new PaymentSimulator({
    name: env.PAYMENT_SIMULATOR_NAME ?? 'simulator',
    secret: env.PAYMENT_SIMULATOR_SECRET ?? SIMULATOR_SECRET,
    ...(env.PAYMENT_SIMULATOR_ACCOUNTS && { merchants: merchantsOf(env.PAYMENT_SIMULATOR_ACCOUNTS.split(',')) }),
    retrySpeedUp: Number(env.PAYMENT_SIMULATOR_RETRY_SPEED_UP ?? 1),
  });
  const url = await simulator.listen(Number(env.PAYMENT_SIMULATOR_PORT ?? 0), env.PAYMENT_SIMULATOR_HOST);
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, () => void simulator.close());
  process.stdout.write(`${JSON.stringify({ url })}\n`);
}

function merchantsOf(accounts: readonly string[]): SimulatedMerchants {
  return {
    alipay: generateAlipayMerchants(accounts),
    wechatPay: generateWechatPayMerchants(accounts),
    stripe: generateStripeMerchants(accounts),
  };
}

run().catch((error: unknown) => {
  process.stderr.write(`payment simulator cannot start: ${String(error)}\n`);
  process.exitCode = 1;
});

import { parseArgs } from 'node:util';
import { generateAlipayMerchants } from './alipay';
import { PaymentSimulator } from './payment-simulator';
import { readEnvironment } from './read-environment';
import { type SimulatedMerchants } from './simulated-merchants';
import { generateStripeMerchants } from './stripe';
import { generateWechatPayMerchants } from './wechat-pay';

const HELP = `Usage: nestjs-order-timeout-payment-simulator [--help]

Simulates Alipay, WeChat Pay, Stripe, and the HTTP payment provider of
nestjs-order-timeout on one port. Prints {"url":"http://..."} when it listens.
Stops at SIGTERM or SIGINT.

Environment variables, with their defaults:
  PAYMENT_SIMULATOR_PORT            port (any free one)
  PAYMENT_SIMULATOR_HOST            address to listen on (127.0.0.1)
  PAYMENT_SIMULATOR_SECRET          shared secret of the HTTP provider (payment-simulator-secret)
  PAYMENT_SIMULATOR_NAME            name of the HTTP provider in notifications (simulator)
  PAYMENT_SIMULATOR_ACCOUNTS        merchant accounts of the other providers, such as shop-a,shop-b (shop)
  PAYMENT_SIMULATOR_RETRY_SPEED_UP  divides the intervals between notifications (1)
`;

/** The simulator as a process. It also stops when a parent that holds an IPC channel to it ends. */
async function run(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const env = readEnvironment(process.env);
  const { PAYMENT_SIMULATOR_ACCOUNTS: accounts } = env;
  const simulator = new PaymentSimulator({
    name: env.PAYMENT_SIMULATOR_NAME,
    secret: env.PAYMENT_SIMULATOR_SECRET,
    ...(accounts && { merchants: merchantsOf(accounts) }),
    retrySpeedUp: env.PAYMENT_SIMULATOR_RETRY_SPEED_UP,
  });
  const url = await simulator.listen(env.PAYMENT_SIMULATOR_PORT, env.PAYMENT_SIMULATOR_HOST);
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

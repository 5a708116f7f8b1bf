import { readFileSync } from 'node:fs';
import { type LedgerEntry, type PaymentInput } from 'nestjs-order-timeout-payment-simulator';
import { DemoError } from '../demo-error';
import { Child } from './child-process';
import { productFile } from './product-file';
import { until } from './until';

const START_LIMIT_MS = 20_000;
/** The provider's name in attempts. */
export const PROVIDER = 'simulator';

/** The payment provider: a process of its own that speaks signed HTTP and keeps the books of who paid. */
export class PaymentSimulatorProcess {
  private readonly child: Child;
  private base = '';

  constructor(
    private readonly logFile: string,
    secret: string,
    onDeath: (sentence: string) => void,
  ) {
    this.child = new Child({
      name: 'the payment simulator',
      script: productFile('packages/payment-simulator/dist/main.js'),
      environment: { PAYMENT_SIMULATOR_SECRET: secret, PAYMENT_SIMULATOR_NAME: PROVIDER, PAYMENT_SIMULATOR_PORT: '0' },
      logFile,
      onDeath,
    });
  }

  get url(): string {
    return this.base;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.child.start();
    this.base = await until('the start of the payment simulator', START_LIMIT_MS, signal, async () => this.announced());
  }

  stop(): Promise<void> {
    return this.child.stop();
  }

  async create(payment: PaymentInput): Promise<void> {
    await this.call('POST', '/script/payments', payment);
  }

  async ledger(): Promise<readonly LedgerEntry[]> {
    const { payments } = (await this.call('GET', '/script/ledger')) as { payments: LedgerEntry[] };
    return payments;
  }

  private announced(): string | undefined {
    return /^\{"url":"(http[^"]+)"\}$/m.exec(readFileSync(this.logFile, 'utf8'))?.[1];
  }

  private async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.base + path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    const answer: unknown = await response.json();
    if (!response.ok) throw new DemoError(`the payment simulator refused ${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  }
}

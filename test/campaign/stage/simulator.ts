import { join } from 'node:path';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type FaultInput, type LedgerEntry, type PaymentInput } from 'nestjs-order-timeout-payment-simulator';
import { PROVIDER } from './service-environment';

const program = join(__dirname, '../../../packages/payment-simulator/dist/main.js');

const TRIES = 5;

/** The payment provider, a process of its own whose books are the truth about money. */
export class Simulator {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(secret: string): Promise<Simulator> {
    const child = spawn(process.execPath, [program], {
      env: { PATH: process.env.PATH, PAYMENT_SIMULATOR_SECRET: secret, PAYMENT_SIMULATOR_NAME: PROVIDER },
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    });
    if (!child.stdout) throw new Error('the payment simulator has no output');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    child.stdout.resume();
    return new Simulator(child, (JSON.parse(line) as { url: string }).url);
  }

  async create(payment: PaymentInput): Promise<void> {
    await this.call('POST', '/script/payments', payment);
  }

  async addFault(fault: FaultInput): Promise<void> {
    await this.call('POST', '/script/faults', fault);
  }

  async ledger(): Promise<readonly LedgerEntry[]> {
    return ((await this.call('GET', '/script/ledger')) as { payments: LedgerEntry[] }).payments;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  /** Tried again while the machine is too busy to connect: creating twice is refused, and harmless. */
  private async call(method: string, path: string, body?: unknown): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.callOnce(method, path, body);
      } catch (error) {
        if (tries === TRIES || !(error instanceof TypeError)) throw error;
      }
    }
  }

  private async callOnce(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(this.url + path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    const text = await answer.text();
    if (answer.status === 409) return {};
    if (!answer.ok) throw new Error(`the payment simulator refused ${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as unknown;
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type ResilienceOptions } from '../../../src';
import { type Ring } from '../contestant';
import { HttpCaller } from './http-caller';
import { runCallers } from './run-callers';

const root = join(__dirname, '..', '..', '..');
const SCRIPTERS = 8;

/** The provider's name in attempts. */
export const PROVIDER = 'simulator';

/** The payment provider, in a process of its own, far away. */
export class ProviderProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    readonly secret: string,
    private readonly script: HttpCaller,
  ) {}

  static async start(): Promise<ProviderProcess> {
    const secret = randomBytes(24).toString('hex');
    const preload = ['--require', join(__dirname, 'end-with-bench.js')];
    const child = spawn(process.execPath, [...preload, join(root, 'packages/payment-simulator/dist/main.js')], {
      env: { PATH: process.env.PATH, PAYMENT_SIMULATOR_SECRET: secret, PAYMENT_SIMULATOR_NAME: PROVIDER },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    if (!child.stdout) throw new Error('the payment simulator has no output');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    child.stdout.resume();
    const { url } = JSON.parse(line) as { url: string };
    return new ProviderProcess(child, url, secret, new HttpCaller(url, {}, SCRIPTERS));
  }

  /** Payments that nobody pays. */
  async create(references: readonly string[], amount: number, currency: string): Promise<void> {
    await runCallers(SCRIPTERS, references.length, (n) =>
      this.script.call('POST', '/script/payments', { reference: references[n], amount, currency }),
    );
  }

  /** Every answer from now on comes so late. */
  async moveAway(ms: number): Promise<void> {
    await this.script.call('POST', '/script/faults', { fault: 'latency', ms });
  }

  /** How many payments are closed on its books. */
  async closedCount(): Promise<number> {
    const { payments } = JSON.parse(await this.script.call('GET', '/script/ledger')) as {
      payments: { status: string }[];
    };
    return payments.filter(({ status }) => status === 'CLOSED').length;
  }

  /** Writes the service's file of providers. @returns its path. */
  writeConfiguration(ring: Ring, resilience: ResilienceOptions): string {
    const path = join(ring.folder, 'providers.json');
    writeFileSync(
      path,
      JSON.stringify([{ type: 'http', name: PROVIDER, baseUrl: this.url, secret: this.secret, resilience }]),
    );
    return path;
  }

  async stop(): Promise<void> {
    this.script.close();
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}

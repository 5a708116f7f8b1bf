import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ResilienceOptions } from '../../src/public/payments';
import { PROVIDER, SimulatorProcess } from '../../test/support/servers/simulator-process';
import { type Ring } from '../contestant';
import { HttpCaller } from './http-caller';
import { runCallers } from './run-callers';

const SCRIPTERS = 8;

/** The payment provider, in a process of its own, far away. */
export class ProviderProcess {
  private constructor(
    private readonly ring: Ring,
    readonly simulator: SimulatorProcess,
    private readonly script: HttpCaller,
  ) {}

  static async start(ring: Ring): Promise<ProviderProcess> {
    const logFile = join(ring.folder, 'payment-simulator.log');
    const simulator = await SimulatorProcess.start({ isBuilt: true, logFile, signal: ring.signal });
    return new ProviderProcess(ring, simulator, new HttpCaller(simulator.url, {}, SCRIPTERS));
  }

  /** Payments that nobody pays. */
  async create(references: readonly string[], amount: number, currency: string): Promise<void> {
    await runCallers(SCRIPTERS, references.length, (n) =>
      this.script.call('POST', '/script/payments', { reference: references[n], amount, currency }),
    );
  }

  /** Every answer from now on comes so late. */
  moveAway(ms: number): Promise<void> {
    return this.simulator.addFault({ fault: 'latency', ms });
  }

  /** How many payments are closed on its books. */
  async closedCount(): Promise<number> {
    return (await this.simulator.ledger()).filter(({ status }) => status === 'CLOSED').length;
  }

  /** Writes the service's file of providers. @returns its path. */
  writeConfiguration(resilience: ResilienceOptions): string {
    const { url: baseUrl, secret } = this.simulator;
    const path = join(this.ring.folder, 'providers.json');
    writeFileSync(path, JSON.stringify([{ type: 'http', name: PROVIDER, baseUrl, secret, resilience }]));
    return path;
  }

  async stop(): Promise<void> {
    this.script.close();
    await this.simulator.stop();
  }
}

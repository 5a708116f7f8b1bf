import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../examples/demo/servers/free-port';
import { until } from '../../../examples/demo/servers/until';
import { type DelayTransportSetting } from '../../../src';
import { type Ring } from '../contestant';

const root = join(__dirname, '..', '..', '..');
const START_LIMIT_MS = 90_000;
const STOP_LIMIT_MS = 15_000;
const LOG_TAIL = 2_000;

interface Plan {
  readonly transport: DelayTransportSetting;
  /** Beside or instead of the product's defaults. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Name of profiles, e.g. `B3-ladder`. */
  readonly name: string;
}

/** As in the image. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=512' };

/** The service as it is deployed: `node dist/main.js`, with its default settings. */
export class BenchService {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    readonly apiKey: string,
  ) {}

  /** Resolves when it is ready with its message path. */
  static async start(ring: Ring, plan: Plan): Promise<BenchService> {
    const port = await freePort();
    const apiKey = randomBytes(24).toString('hex');
    const logFile = join(ring.folder, `service-${port}.log`);
    const log = openSync(logFile, 'a');
    const profile =
      ring.profileFolder === undefined
        ? []
        : ['--cpu-prof', '--cpu-prof-dir', ring.profileFolder, '--cpu-prof-name', `${plan.name}-${port}.cpuprofile`];
    const preload = ['--enable-source-maps', '--require', join(__dirname, 'end-with-bench.js')];
    const child = spawn(process.execPath, [...preload, ...profile, join(root, 'dist/main.js')], {
      env: { PATH: process.env.PATH, ...HEAP, ...environmentOf(ring, plan, port, apiKey) },
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    const service = new BenchService(child, `http://127.0.0.1:${port}`, apiKey);
    try {
      await until('the start of the service', START_LIMIT_MS, ring.signal, async () => {
        if (child.exitCode !== null) throw new Error(readFileSync(logFile, 'utf8').slice(-LOG_TAIL));
        return (await service.isReady()) ? true : undefined;
      });
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    return service;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** CPU time of the process until now, milliseconds: user and system, in clock ticks of 10 ms. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Resident memory at this moment. */
  memoryBytes(): number {
    const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes) * 1_024;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const force = setTimeout(() => this.child.kill('SIGKILL'), STOP_LIMIT_MS);
    await gone;
    clearTimeout(force);
  }

  /** Degraded is not enough: the message path is to be measured. */
  private async isReady(): Promise<boolean> {
    const answer = await fetch(`${this.url}/health/ready`).catch(() => undefined);
    const { status } = ((await answer?.json().catch(() => undefined)) ?? {}) as { status?: string };
    return status === 'ready';
  }
}

function environmentOf(ring: Ring, plan: Plan, port: number, apiKey: string): Record<string, string> {
  return {
    PORT: String(port),
    HOST: '127.0.0.1',
    API_KEYS: `bench:${createHash('sha256').update(apiKey).digest('hex')}:*`,
    DATABASE_URL: ring.databaseUrl,
    RABBITMQ_URLS: ring.amqpUrl,
    DELAY_TRANSPORT: plan.transport,
    LOG_LEVEL: 'warn',
    ...plan.environment,
  };
}

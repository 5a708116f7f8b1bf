import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DelayTransportSetting } from '../../src';
import { freePort } from '../../test/support/servers/free-port';
import { programFile } from '../../test/support/servers/program-file';
import { serviceEnvironment } from '../../test/support/servers/service-environment';
import { type ServicePlan, ServiceProcess } from '../../test/support/servers/service-process';
import { type Ring } from '../contestant';

const START_LIMIT_MS = 90_000;
/** The product's default. */
const PREFIX = 'order-timeout.v1';

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
export class BenchService extends ServiceProcess {
  private constructor(
    plan: ServicePlan,
    readonly apiKey: string,
  ) {
    super(plan);
  }

  /** Resolves when it is ready with its message path: that is to be measured. */
  static async open(ring: Ring, { transport, environment, name }: Plan): Promise<BenchService> {
    const port = await freePort();
    const apiKey = randomBytes(24).toString('hex');
    const { databaseUrl, amqpUrl: rabbitUrls, profileFolder, folder, signal } = ring;
    const profile =
      profileFolder === undefined
        ? []
        : ['--cpu-prof', '--cpu-prof-dir', profileFolder, '--cpu-prof-name', `${name}-${port}.cpuprofile`];
    const around = serviceEnvironment({ databaseUrl, rabbitUrls, prefix: PREFIX, apiKey, transport });
    const plan: ServicePlan = {
      ...{ name: 'the service', nodeArguments: [...profile, ...programFile('service', true)] },
      ...{ port, startLimitMs: START_LIMIT_MS, logFile: join(folder, `service-${port}.log`), signal },
      environment: { ...HEAP, ...around, ...environment },
    };
    const service = new BenchService(plan, apiKey);
    await service.start();
    return service;
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
}

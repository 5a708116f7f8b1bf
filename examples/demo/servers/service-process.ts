import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DemoError } from '../demo-error';
import { type Transport } from '../demo-options';
import { Child } from './child-process';
import { PROVIDER } from './payment-simulator-process';
import { productFile } from './product-file';
import { until } from './until';

interface ServicePlan {
  readonly port: number;
  readonly apiKey: string;
  readonly databaseUrl: string;
  readonly rabbitUrls: readonly string[];
  readonly prefix: string;
  readonly transport: Transport;
  readonly simulatorUrl: string;
  readonly simulatorSecret: string;
  readonly logFile: string;
  readonly onDeath: (sentence: string) => void;
}

interface Readiness {
  readonly status: string;
  readonly transport?: string;
}

const START_LIMIT_MS = 30_000;
const LOG_TAIL_LINES = 5;

/** The service itself, exactly as it is deployed: `node dist/main.js` and its environment. */
export class ServiceProcess {
  private readonly child: Child;

  constructor(private readonly plan: ServicePlan) {
    const { logFile, onDeath } = plan;
    const environment = environmentOf(plan);
    this.child = new Child({ name: 'the service', script: productFile('dist/main.js'), environment, logFile, onDeath });
  }

  get url(): string {
    return `http://127.0.0.1:${this.plan.port}`;
  }

  /** Starts it and waits until it is ready with its message path. @returns the delay transport in use. */
  async start(signal: AbortSignal): Promise<string> {
    this.child.start();
    try {
      return await until('the start of the service', START_LIMIT_MS, signal, () => this.transportWhenReady());
    } catch (error) {
      if (!(error instanceof DemoError)) throw error;
      throw new DemoError(`${error.message}; the end of its log (${this.plan.logFile}):\n${this.logTail()}`);
    }
  }

  kill(): Promise<void> {
    return this.child.kill();
  }

  stop(): Promise<void> {
    return this.child.stop();
  }

  /** Degraded is not enough: the demo shows the message path. */
  private async transportWhenReady(): Promise<string | undefined> {
    const response = await fetch(`${this.url}/health/ready`).catch(() => undefined);
    const readiness = (await response?.json().catch(() => undefined)) as Readiness | undefined;
    return readiness?.status === 'ready' ? (readiness.transport ?? 'none') : undefined;
  }

  private logTail(): string {
    return readFileSync(this.plan.logFile, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  }
}

function environmentOf(plan: ServicePlan): Record<string, string> {
  return {
    PORT: String(plan.port),
    HOST: '127.0.0.1',
    API_KEYS: `demo:${createHash('sha256').update(plan.apiKey).digest('hex')}:*`,
    DATABASE_URL: plan.databaseUrl,
    RABBITMQ_URLS: plan.rabbitUrls.join(','),
    RABBITMQ_PREFIX: plan.prefix,
    DELAY_TRANSPORT: plan.transport,
    HTTP_PAYMENT_PROVIDER_NAME: PROVIDER,
    HTTP_PAYMENT_PROVIDER_URL: plan.simulatorUrl,
    HTTP_PAYMENT_PROVIDER_SECRET: plan.simulatorSecret,
    LOG_LEVEL: 'info',
  };
}

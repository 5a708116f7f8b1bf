import { httpJson } from '../shop/http-json';
import { type ChangedPlan, Program, type ProgramPlan } from './program';

export interface ServicePlan extends ProgramPlan {
  readonly port: number;
  readonly startLimitMs: number;
  /** It counts as started even where its broker is away. */
  readonly mayBeDegraded?: boolean;
}

const LOOK_MS = 2_000;

/** One process of the service, which may die at any time and be started again on the same port. */
export class ServiceProcess extends Program {
  constructor(protected override readonly plan: ServicePlan) {
    super(plan);
  }

  get url(): string {
    return `http://127.0.0.1:${this.plan.port}`;
  }

  /** Resolves when it serves, and has caught up with what was overdue. @returns the delay transport in use. */
  async start({ environment, ...changed }: ChangedPlan = {}): Promise<string> {
    this.spawn({ ...changed, environment: { HOST: '127.0.0.1', ...environment, PORT: String(this.plan.port) } });
    try {
      return await this.untilStarted(this.plan.startLimitMs, () => this.transportWhenReady());
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  private async transportWhenReady(): Promise<string | undefined> {
    const answer = await httpJson('GET', `${this.url}/health/ready`, undefined, {}, LOOK_MS).catch(() => undefined);
    if (answer?.status !== 200) return undefined;
    const { status, transport } = JSON.parse(answer.text) as { status: string; transport?: string };
    return status === 'ready' || this.plan.mayBeDegraded ? (transport ?? 'none') : undefined;
  }
}

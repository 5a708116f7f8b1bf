import { join } from 'node:path';
import { type ChangedPlan } from '../../../support/servers/program';
import { type ServicePlan, ServiceProcess } from '../../../support/servers/service-process';
import { RunError } from '../../../support/run-error';
import { type CrashPoint } from '../build/crash-points';

export interface InstancePlan extends Pick<ServicePlan, 'environment' | 'logFile' | 'port'> {
  readonly number: number;
  readonly dist: string;
  /** The release before, and what its environment has to have instead. */
  readonly previous: () => Promise<{ dist: string; environment: Readonly<Record<string, string>> }>;
  readonly signal: AbortSignal;
}

/** Ready means caught up, too: under faults of everything else that takes its time. */
const START_LIMIT_MS = 180_000;
/** It gives up after 30 s without a database, and an orchestrator starts it again. Faults one after the other last longer. */
const START_TRIES = 5;

const nodeArgumentsOf = (dist: string): string[] => [
  ...['--require', join(__dirname, 'control.js')],
  join(dist, 'main.js'),
];

/** One process of the service, which faults of the campaign reach inside. */
export class Instance extends ServiceProcess {
  readonly number: number;
  /** True while a fault uses it, so that no other fault takes it too. */
  isTaken = false;
  /** How it ended without anybody having ended it. */
  readonly deaths: readonly string[];
  private readonly previous: InstancePlan['previous'];
  private readonly life: { hasStarted: boolean };

  constructor({ number, dist, previous, ...plan }: InstancePlan) {
    const deaths: string[] = [];
    const life = { hasStarted: false };
    super({
      ...{ ...plan, name: `instance ${number}`, nodeArguments: nodeArgumentsOf(dist) },
      ...{ startLimitMs: START_LIMIT_MS, mayBeDegraded: true },
      // At a crash point it kills itself by SIGKILL.
      onDeath: (sentence, endedBy) => void (life.hasStarted && endedBy !== 'SIGKILL' && deaths.push(sentence)),
    });
    this.number = number;
    this.deaths = deaths;
    this.previous = previous;
    this.life = life;
  }

  override async start(changed?: ChangedPlan): Promise<string> {
    this.life.hasStarted = false;
    for (let tries = 1; ; tries++) {
      try {
        const transport = await super.start(changed);
        this.life.hasStarted = true;
        return transport;
      } catch (error) {
        if (tries === START_TRIES || !(error instanceof RunError)) throw error;
      }
    }
  }

  /** As the release before this one. */
  async startPrevious(): Promise<void> {
    const { dist, environment } = await this.previous();
    await this.start({ nodeArguments: nodeArgumentsOf(dist), environment });
  }

  /** It kills itself when it passes this point; `skip` times it passes unharmed. */
  arm(point: CrashPoint, skip: number): void {
    this.tell({ arm: point, skip });
  }

  jumpClock(ms: number): void {
    this.tell({ jumpMs: ms });
  }

  /** The next `runs` runs of its handlers never end. */
  hangHandlers(runs: number): void {
    this.tell({ hang: runs });
  }

  breakChannel(which: number): void {
    this.tell({ breakChannel: which });
  }
}

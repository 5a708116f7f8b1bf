import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../../examples/demo/servers/until';
import { type CrashPoint } from '../build/crash-points';

export type Release = 'current' | 'previous';

export interface InstancePlan {
  readonly number: number;
  readonly dist: string;
  /** The release before, and what its environment has to have instead. */
  previous(): Promise<{ dist: string; environment: Readonly<Record<string, string>> }>;
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly port: number;
  readonly signal: AbortSignal;
}

/** Ready means caught up, too: under faults of everything else that takes its time. */
const START_LIMIT_MS = 180_000;
const LOOK_MS = 2_000;
const CONTROL = join(__dirname, 'control.js');

/** One process of the service, which may die at any time. */
export class Instance {
  private child: ChildProcess | undefined;
  private gone: Promise<unknown> = Promise.resolve();
  /** True while a fault uses it, so that no other fault takes it too. */
  isTaken = false;
  /** How it ended without anybody having ended it. */
  readonly deaths: string[] = [];
  private isEnding = false;

  constructor(private readonly plan: InstancePlan) {}

  get number(): number {
    return this.plan.number;
  }

  get url(): string {
    return `http://127.0.0.1:${this.plan.port}`;
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Resolves when it is ready: it serves, and has caught up with what was overdue. */
  async start(release: Release = 'current'): Promise<void> {
    const { environment, logFile, port, signal } = this.plan;
    const log = openSync(logFile, 'a');
    const build = release === 'current' ? { dist: this.plan.dist, environment: {} } : await this.plan.previous();
    const child = spawn(process.execPath, ['--require', CONTROL, join(build.dist, 'main.js')], {
      env: { PATH: process.env.PATH, ...environment, ...build.environment, PORT: String(port) },
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    child.on('error', () => undefined);
    this.isEnding = false;
    child.once('exit', (code, ending) => {
      // At a crash point it kills itself by SIGKILL.
      if (!this.isEnding && ending !== 'SIGKILL')
        this.deaths.push(`instance ${this.number}: ${ending ?? `code ${code}`}`);
    });
    this.gone = once(child, 'exit');
    this.child = child;
    await until(`the start of instance ${this.number}`, START_LIMIT_MS, signal, async () => {
      if (!this.isRunning) throw new Error(`instance ${this.number} ended while it started; see ${logFile}`);
      return (await this.isReady()) ? true : undefined;
    });
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  /** It kills itself when it passes this point; `skip` times it passes unharmed. */
  arm(point: CrashPoint, skip: number): void {
    this.tell({ arm: point, skip });
  }

  disarm(): void {
    this.tell({ disarm: true });
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

  /** @returns whether it ended within this time. */
  async whenGone(ms: number): Promise<boolean> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), ms);
    const aborted = once(limit.signal, 'abort');
    await Promise.race([this.gone, aborted]);
    clearTimeout(timer);
    return !this.isRunning;
  }

  private tell(message: object): void {
    if (this.isRunning && this.child?.connected) this.child.send(message, () => undefined);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return;
    this.isEnding = true;
    this.child?.kill(signal);
    if (!(await this.whenGone(15_000))) this.child?.kill('SIGKILL');
    await this.gone;
  }

  private async isReady(): Promise<boolean> {
    try {
      const answer = await fetch(`${this.url}/health/ready`, { signal: AbortSignal.timeout(LOOK_MS) });
      return answer.ok;
    } catch {
      return false;
    }
  }
}

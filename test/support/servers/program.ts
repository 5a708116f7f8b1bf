import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { RunError } from '../run-error';
import { END_WITH_PARENT, ROOT } from './program-file';
import { answerOf } from '../until';
import { stretched } from '../machine-load';

export interface ProgramPlan {
  /** In sentences, e.g. `the service`. */
  readonly name: string;
  /** Node's own options, the file, and its arguments. */
  readonly nodeArguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Everything that it says is appended. */
  readonly logFile: string;
  /** Called when it ends without having been asked to. */
  readonly onDeath?: (sentence: string, endedBy: NodeJS.Signals | null) => void;
  readonly signal?: AbortSignal;
}

/** What one start changes of the plan; the environment is beside that of the plan. */
export type ChangedPlan = Partial<Pick<ProgramPlan, 'nodeArguments' | 'environment'>>;

/** Longer than the service's own limit for work in hand. */
const ORDERLY_MS = 15_000;
const SAYS_LIMIT_MS = 30_000;
const LOG_TAIL_LINES = 30;

/** Not the whole environment: a variable that somebody set for a service of his own would change the run. */
const INHERITED = /^(path|home|tmpdir|tz|lang|systemroot|node_.+|pg.+)$/i;

/** A program in a process of its own, which may be killed and started again, and never outlives its owner. */
export class Program {
  private child: ChildProcess | undefined;
  private gone: Promise<void> = Promise.resolve();
  private isEnding = false;

  constructor(protected readonly plan: ProgramPlan) {}

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Everything that it has said. */
  get output(): string {
    return readFileSync(this.plan.logFile, 'utf8');
  }

  get lastWords(): string {
    return this.output.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  }

  spawn({ nodeArguments = this.plan.nodeArguments, environment = {} }: ChangedPlan = {}): void {
    const { name, logFile, onDeath } = this.plan;
    const log = openSync(logFile, 'a');
    const child = spawn(process.execPath, ['--require', END_WITH_PARENT, ...nodeArguments], {
      cwd: ROOT,
      env: { ...inherited(), ...this.plan.environment, ...environment },
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    this.child = child;
    this.isEnding = false;
    this.gone = new Promise((resolve) => {
      child.once('error', (error) => {
        onDeath?.(`${name} could not be started: ${error.message}`, null);
        resolve();
      });
      child.once('exit', (code, endedBy) => {
        if (!this.isEnding)
          onDeath?.(`${name} ended by itself (${endedBy ?? `code ${code}`}); its log: ${logFile}`, endedBy);
        resolve();
      });
    });
  }

  /** At once and without mercy: kill -9. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** In good order, or by force after 15 s. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  /** To what is preloaded into it; lost when it is not running. */
  tell(message: object): void {
    if (this.isRunning && this.child?.connected) this.child.send(message, () => undefined);
  }

  /** @returns what the preloaded code says next. */
  async ask(message: string): Promise<unknown> {
    if (!this.child) throw new RunError(`${this.plan.name} has not been started`);
    const answer = once(this.child, 'message') as Promise<[unknown]>;
    this.child.send(message);
    return (await answer)[0];
  }

  /** @returns whether it ended within this time. */
  async whenGone(ms: number): Promise<boolean> {
    const limit = new AbortController();
    const late = sleep(ms, undefined, { signal: limit.signal }).catch(() => undefined);
    await Promise.race([this.gone, late]);
    limit.abort();
    return !this.isRunning;
  }

  /** The first match in what it says. @throws RunError with its last words when it ends before, or says it too late. */
  async untilSays(pattern: RegExp): Promise<RegExpExecArray> {
    return this.untilStarted(SAYS_LIMIT_MS, async () => pattern.exec(this.output) ?? undefined);
  }

  /** Asks until there is an answer. @throws RunError with its last words when it ends before, or after the limit. */
  protected async untilStarted<T>(limitMs: number, ask: () => Promise<T | undefined>): Promise<T> {
    const { name, logFile, signal } = this.plan;
    try {
      return await answerOf(`the start of ${name}`, limitMs, signal, async () => {
        if (!this.isRunning) throw new RunError(`${name} ended while it started`);
        return ask();
      });
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      throw new RunError(`${error.message}; the end of its log (${logFile}):\n${this.lastWords}`);
    }
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    this.isEnding = true;
    this.child?.kill(signal);
    if (!(await this.whenGone(stretched(ORDERLY_MS)))) this.child?.kill('SIGKILL');
    await this.gone;
  }
}

function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name)));
}

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

interface ChildPlan {
  readonly name: string;
  /** The program, absolute. */
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Called when it ends without having been asked to. */
  readonly onDeath: (sentence: string) => void;
}

/** Longer than the service's own limit for work in progress. */
const ORDERLY_MS = 12_000;
const PRELOAD = join(__dirname, 'end-with-parent.js');

/** Not the whole environment: a variable that somebody set for a service of his own would change the demo's. */
const INHERITED = /^(path|home|tmpdir|tz|lang|systemroot|node_.+|pg.+)$/i;

/** A program of the demo in a process of its own, which never outlives the demo. */
export class Child {
  private process: ChildProcess | undefined;

  constructor(private readonly plan: ChildPlan) {}

  start(): void {
    const { name, script, environment, logFile, onDeath } = this.plan;
    const log = openSync(logFile, 'a');
    const child = fork(script, [], {
      env: { ...inherited(), ...environment },
      stdio: ['ignore', log, log, 'ipc'],
      execArgv: ['--enable-source-maps', '--require', PRELOAD],
    });
    closeSync(log);
    child.once('error', (error) => onDeath(`${name} could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      const wasRunning = this.process === child;
      if (wasRunning) onDeath(`${name} ended by itself (${signal ?? `code ${code}`}); its log: ${logFile}`);
    });
    this.process = child;
  }

  /** At once and without mercy: kill -9. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** In good order, or by force after 12 s. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const force = setTimeout(() => child.kill('SIGKILL'), ORDERLY_MS);
    await ended;
    clearTimeout(force);
  }
}

function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name)));
}

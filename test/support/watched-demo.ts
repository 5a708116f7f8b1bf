import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const REPOSITORY = join(__dirname, '../..');
const INVITATION = /Operator page: {2}(\S+)\n {2}Sign in with: {3}(\S+)\n/;
const SHOWN = 4_000;

/** What `npm run demo -- --watch` runs. Not npm itself, which ends by SIGINT whatever its script answers to it. */
export class WatchedDemo {
  private readonly script: ChildProcess;
  private readonly ended: Promise<number | null>;
  /** What it has printed so far. */
  output = '';

  private constructor(args: readonly string[], env: NodeJS.ProcessEnv) {
    const command = [join(REPOSITORY, 'scripts/demo.mjs'), '--watch', ...args];
    this.script = spawn(process.execPath, command, { cwd: REPOSITORY, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const take = (chunk: string): string => (this.output += chunk);
    this.script.stdout?.setEncoding('utf8').on('data', take);
    this.script.stderr?.setEncoding('utf8').on('data', take);
    this.ended = once(this.script, 'close').then(([code]) => code as number | null);
  }

  /** Resolves when it has said where the page is. @throws with what it printed, if it ends before */
  static async start(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<WatchedDemo> {
    const demo = new WatchedDemo(args, env);
    const hasEnded = demo.ended.then(() => 'ended');
    while (!INVITATION.test(demo.output)) {
      const next = demo.script.stdout ? once(demo.script.stdout, 'data') : hasEnded;
      if ((await Promise.race([next, hasEnded])) === 'ended') {
        throw new Error(`npm run demo ended before it was ready:\n${demo.output.slice(-SHOWN)}`);
      }
    }
    return demo;
  }

  get address(): string {
    return INVITATION.exec(this.output)?.[1] ?? '';
  }

  get key(): string {
    return INVITATION.exec(this.output)?.[2] ?? '';
  }

  /** Ctrl-C. @returns the exit code; null if a signal has killed it */
  interrupt(): Promise<number | null> {
    this.script.kill('SIGINT');
    return this.ended;
  }
}

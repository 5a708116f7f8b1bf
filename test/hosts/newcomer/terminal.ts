import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

/** Characters of the output in an error. */
const SHOWN = 4_000;

/** A shell that stays open between commands, as that of a person. */
export class Terminal {
  private readonly shell: ChildProcess;
  private readonly closed: Promise<unknown>;
  private readonly waiting = new Set<() => void>();
  private hasEnded = false;
  /** Whether it runs commands that were started. */
  isBusy = false;
  /** What its commands have printed so far. */
  output = '';

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    // A group of its own, so that it can be ended with everything that runs in it.
    const options = { cwd: folder, env, stdio: 'pipe', detached: true } as const;
    this.shell = spawn('bash', ['--noprofile', '--norc', '-e'], options);
    const take = (chunk: string): void => this.note(() => (this.output += chunk));
    this.shell.stdout?.setEncoding('utf8').on('data', take);
    this.shell.stderr?.setEncoding('utf8').on('data', take);
    this.shell.stdin?.on('error', () => undefined); // It has ended, which `shows` tells.
    this.closed = once(this.shell, 'close').then(() => this.note(() => (this.hasEnded = true)));
  }

  /** Runs commands to their end. @throws with what they printed, if one fails or takes longer */
  async run(commands: string, limitMs: number): Promise<void> {
    const mark = `ended-${randomUUID()}`;
    this.type(`${commands}\necho ${mark}`);
    await this.shows(new RegExp(mark), limitMs);
  }

  /** Starts commands, and does not wait for them. */
  start(commands: string): void {
    this.isBusy = true;
    this.type(commands);
  }

  private type(commands: string): void {
    // What a command reads must not be the next command.
    this.shell.stdin?.write(`{\n${commands}\n} </dev/null\n`);
  }

  /** Resolves when the output matches. @throws if the shell ends before that, or the time is over */
  shows(pattern: RegExp, limitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        clearTimeout(timer);
        this.waiting.delete(look);
        how();
      };
      const fail = (why: string): void =>
        settle(() => reject(new Error(`${why}; the terminal shows:\n${this.output.slice(-SHOWN)}`)));
      const timer = setTimeout(() => fail(`no ${pattern.source} within ${limitMs} ms`), limitMs);
      const look = (): void => {
        if (pattern.test(this.output)) settle(resolve);
        else if (this.hasEnded) fail('a command has failed');
      };
      this.waiting.add(look);
      look();
    });
  }

  /** Ends what runs in it, as by Ctrl-C, and waits for it. */
  async close(): Promise<void> {
    if (!this.hasEnded && this.shell.pid !== undefined) process.kill(-this.shell.pid, 'SIGTERM');
    await this.closed;
  }

  private note(change: () => void): void {
    change();
    for (const look of [...this.waiting]) look();
  }
}

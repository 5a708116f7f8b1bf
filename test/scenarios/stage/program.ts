import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const compile = join(root, 'test/integration/payments/compile-on-require.js');
/** Longer than the service's own limit for work in progress. */
const ORDERLY_MS = 8_000;

/** Where the sources of each program are. */
const SOURCES = { service: 'src', 'payment-simulator': 'packages/payment-simulator/src' };
const SIMULATOR_BUILD = 'packages/payment-simulator/dist';

/** One of our programs in a process of its own, which does not outlive this one. */
export class Program {
  private readonly exited: Promise<unknown>;
  private said = '';

  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
  ) {
    this.exited = once(child, 'close');
    const take = (chunk: Buffer): void => void (this.said += chunk.toString());
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    process.once('exit', () => child.kill('SIGKILL'));
  }

  /**
   * With SCENARIOS_DIST, the builds run: of the service the one in that folder. Without it, the sources run.
   * @param environment all of it, but for PATH.
   */
  static start(name: keyof typeof SOURCES, environment: Readonly<Record<string, string>>): Program {
    const dist = process.env.SCENARIOS_DIST;
    const file = dist
      ? [resolve(root, name === 'service' ? dist : SIMULATOR_BUILD, 'main.js')]
      : ['-r', compile, join(root, SOURCES[name], 'main.ts')];
    const env = { PATH: process.env.PATH, ...environment };
    return new Program(name, spawn(process.execPath, file, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** Everything that it has written. */
  get output(): string {
    return this.said;
  }

  /** The first match in what it writes. @throws with its last words when it ends before. */
  async untilSays(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.said);
      if (found) return found;
      if (this.child.exitCode !== null) throw new Error(`${this.name} ended: ${this.said.slice(-2_000)}`);
      await Promise.race([this.exited, once(this.child.stdout ?? this.child, 'data')]);
    }
  }

  /** In good order, or by force after 8 s. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    const force = setTimeout(() => this.child.kill('SIGKILL'), ORDERLY_MS);
    await this.exited;
    clearTimeout(force);
  }
}

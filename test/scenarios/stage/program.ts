import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const compile = join(root, 'test/integration/payments/compile-on-require.js');
/** Longer than the service's own limit for work in hand. */
const ORDERLY_MS = 8_000;

/** A program of ours in a process of its own, which does not outlive this one. */
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
   * @param path below src, without extension. With SCENARIOS_DIST the build in that folder runs, else the sources.
   * @param environment all of it, but for PATH.
   */
  static start(path: string, environment: Readonly<Record<string, string>>): Program {
    const dist = process.env.SCENARIOS_DIST;
    const file = dist ? [resolve(root, dist, `${path}.js`)] : ['-r', compile, join(root, 'src', `${path}.ts`)];
    const env = { PATH: process.env.PATH, ...environment };
    return new Program(path, spawn(process.execPath, file, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] }));
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

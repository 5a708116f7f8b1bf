import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(__dirname, '..', '..', '..');

/** The simulator's process entry, started and listening. */
export class SimulatorProcess {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(env: Readonly<Record<string, string>>): Promise<SimulatorProcess> {
    const child = spawn(
      process.execPath,
      ['-r', join(root, 'test/support/compile-on-require.js'), join(root, 'packages/payment-simulator/src/main.ts')],
      { cwd: root, env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const lines = createInterface(child.stdout);
    const [line] = (await Promise.race([once(lines, 'line'), exitOf(child)])) as [string];
    lines.close();
    return new SimulatorProcess((JSON.parse(line) as { url: string }).url, child);
  }

  /** SIGTERM, as a demo or an init system would. Resolves to the exit code. */
  async stop(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const exited = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill('SIGTERM');
    const [code] = await exited;
    return code;
  }
}

async function exitOf(child: ChildProcess): Promise<never> {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  throw new Error(`the simulator process ended with ${code} before it listened: ${said}`);
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Sample } from './sample';

const ROOT = join(__dirname, '..', '..');
const PRELOADED = ['test/integration/payments/compile-on-require.js', 'test/soak/memory-probe.js'];

/** The service as a process of its own whose memory can be asked for. */
export class SoakedService {
  private output = '';

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => this.keep(chunk.toString()));
  }

  /** Resolves with the service and its address once it listens. */
  static async start(env: Readonly<Record<string, string>>): Promise<{ service: SoakedService; url: string }> {
    const preload = PRELOADED.flatMap((file) => ['-r', join(ROOT, file)]);
    const child = spawn(process.execPath, ['--expose-gc', ...preload, join(ROOT, 'src/main.ts')], {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const service = new SoakedService(child);
    return { service, url: await service.address() };
  }

  async sample(atMs: number): Promise<Sample> {
    const answer = once(this.child, 'message');
    this.child.send('sample');
    const [memory] = (await answer) as [Omit<Sample, 'atMs'>];
    return { atMs, ...memory };
  }

  /** Asks it to stop, and tells whether it ended in order: Nest ends with the very signal after its hooks. */
  async stop(): Promise<boolean> {
    const closed = once(this.child, 'close');
    this.child.kill('SIGTERM');
    await closed;
    const isStopped = this.output.includes('stopped: ');
    if (!isStopped) process.stderr.write(`${this.output.slice(-3_000)}\n`);
    return isStopped;
  }

  private async address(): Promise<string> {
    for (;;) {
      const url = /listening on (http:\/\/[\d.:]+)/.exec(this.output)?.[1];
      if (url) return url;
      if (this.child.exitCode !== null) throw new Error(`the service ended: ${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Only the end is of interest, and the driver must not grow either. */
  private keep(text: string): void {
    this.output = (this.output + text).slice(-20_000);
  }
}

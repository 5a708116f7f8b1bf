import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface ServerEvent {
  readonly event: 'ready' | 'stopped' | 'killed' | 'exited' | 'error' | 'done';
  readonly [name: string]: unknown;
}

const scripts = join(__dirname, '..', '..', '..', 'scripts');

/** A broker or database of this run's own, in its own process, to be stopped and killed at will. */
export class OwnServer {
  private readonly lines: AsyncIterator<string, undefined>;
  private readonly exited: Promise<unknown>;
  private stderr = '';
  private queue: Promise<unknown> = Promise.resolve();

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]() as AsyncIterator<string, undefined>;
    this.exited = once(child, 'exit');
    child.stderr.on('data', (chunk: Buffer) => (this.stderr = (this.stderr + chunk.toString()).slice(-4_000)));
    child.stdin.on('error', () => undefined);
  }

  /** @param script of scripts/, see scripts/stack/throw-away.mjs. @returns with what it says of itself. */
  static async start(script: string, args: readonly string[]): Promise<{ server: OwnServer; access: ServerEvent }> {
    const child = spawn(process.execPath, [join(scripts, script), ...args], { stdio: 'pipe' });
    const server = new OwnServer(child);
    return { server, access: await server.next() };
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.tell('kill');
  }

  /** In good order. */
  async stop(): Promise<void> {
    await this.tell('stop');
  }

  /** Resolves when it takes connections again. */
  async start(): Promise<void> {
    await this.tell('start');
  }

  /** Ends it for good; it removes its data. */
  async close(): Promise<void> {
    this.child.stdin.end();
    await this.exited;
  }

  /** One command after the other. @returns what it says when that is done. */
  tell(command: string): Promise<ServerEvent> {
    const done = this.queue.then(() => {
      this.child.stdin.write(`${command}\n`);
      return this.next();
    });
    this.queue = done.catch(() => undefined);
    return done;
  }

  private async next(): Promise<ServerEvent> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`a server of the campaign ended: ${this.stderr}`);
    const event = JSON.parse(value) as ServerEvent;
    if (event.event === 'error' || event.event === 'exited') throw new Error(`${value} ${this.stderr}`);
    return event;
  }
}

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './program-file';

interface ServerEvent {
  readonly event?: string;
  readonly [name: string]: unknown;
}

/** Serves one by its name. */
export const SERVER = 'scripts/server.mjs';

/** After these there is nothing to go on with. */
const FATAL: readonly unknown[] = ['error', 'exited'];

/** Servers of a run's own, in a process of their own, to be stopped and killed at will; see scripts/stack/supervisor.mjs. */
export class OwnServer {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string, undefined>;
  private readonly exited: Promise<unknown>;
  private stderr = '';
  private queue: Promise<unknown> = Promise.resolve();
  private access: ServerEvent = {};

  protected constructor(script: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const env = { ...process.env, ...environment };
    this.child = spawn(process.execPath, [join(ROOT, script), ...args], { stdio: 'pipe', env });
    const { stdout, stderr, stdin } = this.child;
    this.lines = createInterface({ input: stdout })[Symbol.asyncIterator]() as AsyncIterator<string, undefined>;
    this.exited = once(this.child, 'exit');
    stderr.on('data', (chunk: Buffer) => (this.stderr = (this.stderr + chunk.toString()).slice(-4_000)));
    stdin.on('error', () => undefined);
  }

  /** @param name that scripts/server.mjs has for it. */
  static async openServer(name: string, ...args: readonly string[]): Promise<OwnServer> {
    return new OwnServer(SERVER, [name, ...args]).ready();
  }

  /** What it has said of itself; undefined: nothing. */
  told(name: string): unknown {
    return this.access[name];
  }

  /** A URL or another text that it has said of itself. @throws Error when it has not. */
  text(name: string): string {
    const text = this.access[name];
    if (typeof text === 'string') return text;
    throw new Error(`the server has not told its ${name}: ${JSON.stringify(this.access)}`);
  }

  /** kill -9. */
  kill(): Promise<void> {
    return this.tell('kill');
  }

  /** In good order. */
  stop(): Promise<void> {
    return this.tell('stop');
  }

  /** Resolves when it takes connections again. */
  start(): Promise<void> {
    return this.tell('start');
  }

  /** Ends it for good; it removes its data. */
  async close(): Promise<void> {
    this.child.stdin.end();
    await this.exited;
  }

  /** One command after the other. Resolves when it is done. */
  protected tell(command: string): Promise<void> {
    const done = this.queue.then(async () => {
      this.child.stdin.write(`${command}\n`);
      await this.ready();
    });
    this.queue = done.catch(() => undefined);
    return done;
  }

  /** Waits for the next event. */
  protected async ready(): Promise<this> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`a server of the run ended: ${this.stderr}`);
    const event = JSON.parse(value) as ServerEvent;
    if (FATAL.includes(event.event)) throw new Error(`${value} ${this.stderr}`);
    this.access = { ...this.access, ...event };
    return this;
  }
}

import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { type Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { withoutDraws } from './virtual-time';

/** What pg keeps of a connection, and does with it. */
export interface Wire extends EventEmitter {
  stream: Socket;
  parsedStatements: object;
  _connecting: boolean;
  _ending: boolean;
  connect(): void;
  startup(): void;
  end(): void;
  attachListeners(stream: Socket): void;
}

/** What pg keeps of a client. */
export interface Connected {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly readyForQuery: boolean | null;
  /** Whether it is in a transaction, as PostgreSQL says it. */
  readonly _txStatus: 'I' | 'T' | 'E' | null;
  readonly connection: Wire;
  readonly connectionParameters: { readonly options?: string };
}

interface Parameter {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/**
 * As after a login, but what is prepared stays. Its plan is the one of any other time: to PostgreSQL, a table that was never
 * analyzed has ten pages, until it has more.
 */
const LIKE_NEW = 'ROLLBACK; CLOSE ALL; RESET ALL; SELECT pg_advisory_unlock_all(); DISCARD SEQUENCES';

/** Environment variable: the folder of the server's socket, for the processes that play. */
export const SOCKET = 'SIMULATION_SOCKET';

/** So many are there before the first world. */
const FIRST = 8;

type Method = (...given: unknown[]) => Promise<unknown>;

const prototype = Client.prototype as unknown as Record<'query' | 'connect', Method>;

const original = { query: prototype.query, connect: prototype.connect };

/** Of pg itself, whoever stands before it. */
async function send<T>(client: Client, ...given: unknown[]): Promise<T[]> {
  const result = await original.query.call(client, ...given);
  return (result as { rows: T[] }).rows;
}

/**
 * Processes of PostgreSQL, for one world after the other. To start one, and to let it read the catalog, takes as long as thirty
 * statements.
 */
export class Backends {
  private readonly free: Backend[] = [];
  /** Of what is asked, by text. */
  private readonly names = new Map<string, string>();
  private readonly leaving = new Set<Promise<void>>();

  private constructor(
    private readonly url: string,
    private readonly monitor: Client,
  ) {}

  static async open(url: string): Promise<Backends> {
    const monitor = new Client(loginOf(url));
    await original.connect.call(monitor);
    const backends = new Backends(url, monitor);
    while (backends.free.length < FIRST) backends.free.push(await Backend.start(url));
    return backends;
  }

  /** On a connection of the world's own. */
  async ask<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    const name = this.names.get(text) ?? `ask_${this.names.size}`;
    this.names.set(text, name);
    return send<T>(this.monitor, { name, text, values });
  }

  /** Several statements. */
  async run(sql: string): Promise<void> {
    await send(this.monitor, sql);
  }

  /** The client connects, as far as it and its user can tell. */
  async lend(client: Client): Promise<void> {
    const backend = this.free.pop() ?? (await withoutDraws(() => Backend.start(this.url)));
    adopt(client as unknown as Connected, new Lease(backend));
  }

  /** Resolves when the locks of a connection that has ended are free, and whoever waited for its end knows. */
  async takeBack(client: Client): Promise<void> {
    const { stream } = (client as unknown as Connected).connection;
    if (!(stream instanceof Lease)) return;
    this.leaving.add((stream.back ??= this.renew(stream)));
    await stream.back;
    this.leaving.delete(stream.back);
  }

  private async renew(lease: Lease): Promise<void> {
    await lease.end();
    const { backend, wasIdle } = lease;
    if (wasIdle && (await backend.renew())) {
      this.free.push(backend);
      return;
    }
    await this.ask('SELECT pg_terminate_backend($1)', [backend.pid]);
    const left = 'SELECT FROM pg_stat_activity WHERE pid = $1';
    while ((await this.ask(left, [backend.pid])).length > 0);
  }

  /** Resolves when all that were taken back can be lent again, or are gone. */
  async untilFree(): Promise<void> {
    await Promise.all(this.leaving);
  }

  async close(): Promise<void> {
    await this.untilFree();
    await this.monitor.end();
  }
}

/** One process of PostgreSQL, with the socket to it. */
class Backend {
  lessee: Lease | undefined;
  readonly parameters: Parameter[] = [];
  readonly statements: object = {};

  private constructor(private readonly client: Client) {}

  static async start(url: string): Promise<Backend> {
    const client = new Client({ ...loginOf(url), options: '-c DateStyle=ISO' });
    const backend = new Backend(client);
    const { connection } = client as unknown as Connected;
    connection.on('parameterStatus', (one: Parameter) => backend.parameters.push(one));
    client.on('error', () => undefined);
    await original.connect.call(client);
    const { socket } = backend;
    const [hear] = socket.listeners('data') as ((chunk: Buffer) => void)[];
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => (backend.lessee ? backend.lessee.hear(chunk) : hear?.(chunk)));
    socket.once('close', () => backend.lessee?.destroy());
    return backend;
  }

  get socket(): Socket {
    return this.connected.connection.stream;
  }

  get pid(): number | null {
    return this.connected.processID;
  }

  get secretKey(): number | null {
    return this.connected.secretKey;
  }

  private get connected(): Connected {
    return this.client as unknown as Connected;
  }

  /** For the next one. False: it is gone. */
  async renew(): Promise<boolean> {
    try {
      await send(this.client, LIKE_NEW);
      return true;
    } catch {
      return false;
    }
  }
}

/** What pg takes for the socket of a connection that it has opened. */
class Lease extends EventEmitter {
  destroyed = false;
  closed = false;
  writable = true;
  /** When its backend is there for others. */
  back: Promise<void> | undefined;
  /** Whether PostgreSQL had answered everything when it ended. */
  wasIdle = false;
  isIdle = (): boolean => true;
  /** Whatever comes is not of whoever happens to run. */
  private readonly outside = new AsyncResource('Lease');
  private readonly ended = new Promise<void>((resolve) => this.once('close', () => resolve()));

  constructor(readonly backend: Backend) {
    super();
    backend.lessee = this;
    const { socket } = backend;
    this.cork = socket.cork.bind(socket);
    this.uncork = socket.uncork.bind(socket);
    this.write = socket.write.bind(socket);
  }

  readonly cork: Socket['cork'];
  readonly uncork: Socket['uncork'];
  readonly write: Socket['write'];

  hear(chunk: Buffer): void {
    this.outside.runInAsyncScope(() => this.emit('data', chunk));
  }

  end(): Promise<void> {
    this.destroy();
    return this.ended;
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.writable = false;
    this.wasIdle = this.isIdle();
    const { backend } = this;
    backend.lessee = undefined;
    if (!this.wasIdle) backend.socket.destroy();
    this.outside.runInAsyncScope(() =>
      process.nextTick(() => {
        if (error) this.emit('error', error);
        this.closed = true;
        this.emit('close');
      }),
    );
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function adopt(client: Connected, lease: Lease): void {
  const { connection } = client;
  const { backend } = lease;
  const stream = lease as unknown as Socket;
  lease.isIdle = () => client.readyForQuery === true;
  Object.assign(connection, { stream, parsedStatements: backend.statements });
  connection.connect = () => {
    connection._connecting = true;
    lease.on('error', (error: Error) => connection.emit('error', error));
    lease.on('close', () => connection.emit('end'));
    connection.attachListeners(stream);
    process.nextTick(() => connection.emit('connect'));
  };
  connection.startup = () => {
    for (const parameter of backend.parameters) connection.emit('parameterStatus', parameter);
    connection.emit('backendKeyData', { processID: backend.pid, secretKey: backend.secretKey });
    connection.emit('readyForQuery', { status: 'I' });
  };
  connection.end = () => {
    connection._ending = true;
    void lease.end();
  };
}

function loginOf(url: string): ClientConfig {
  const socket = process.env[SOCKET];
  if (socket === undefined || socket === '') return { connectionString: url };
  const { username, password, port, pathname } = new URL(url);
  return { host: socket, port: Number(port), user: username, password, database: pathname.slice(1) };
}

import { Client, type ClientConfig, type ClientBase } from 'pg';
import { connect } from 'node:net';
import { isReadOnlySession, isSessionLost, isUnanswered, isLoginRefused } from './database-errors';
import { NoAnswerError, ReadOnlySessionError, NoWritableServerError } from './errors';

/** Limit for a pool that sets none: it would wait forever. */
const CONNECT_MS = 10_000;

const KEEP_ALIVE_MS = 5_000;

type Connected = (error: Error | null, client?: Client) => void;

/** Every open client of the process. */
const clients = new Set<ResilientClient>();

/** Counts questions, so that it can be told which came first. */
let questions = 0;

/**
 * A client that survives its server. pg ends the process by an 'error' event that nobody listens to, and TypeORM
 * listens only while a query runner has the client: PostgreSQL that is killed right after a release would take us along.
 *
 * A connection whose other end is gone without a word is closed at the first answer that does not come, as the pool
 * would hand it out again and again; so are those beside it that lie idle and have not been heard of since, or each of
 * them would cost somebody the same wait. So is a connection whose server takes no writes any more, and all idle ones beside it that
 * are in no transaction; those in one find out themselves.
 *
 * Knows URLs of several servers (`postgresql://login@host1,host2/db?target_session_attrs=read-write`): it connects to the
 * one that takes writes. Nothing comes of a connect within ten seconds: it fails, if the pool says nothing else.
 */
export class ResilientClient extends Client {
  private unanswered = 0;
  private heardAt = 0;
  private isGone = false;
  private isInTransaction = false;
  private readonly reported: ReportedParameters;
  private readonly server: WritableServer | undefined;
  private readonly config: ClientConfig;
  private readonly unreadable: Error | undefined;

  constructor(config?: string | ClientConfig) {
    const given = typeof config === 'string' ? { connectionString: config } : (config ?? {});
    const servers = given.connectionString === undefined ? undefined : parseServerUrls(given.connectionString);
    const [connectionString = given.connectionString] = servers?.urls ?? [];
    const whole = withDefaults({ ...given, ...(connectionString === undefined ? {} : { connectionString }) }, given);
    const unreadable = unreadableFile(whole);
    super(unreadable ? withDefaults({}, {}) : whole);
    this.unreadable = unreadable;
    this.config = whole;
    this.server = servers?.mustWrite ? WritableServer.of(servers.urls) : undefined;
    this.reported = new ReportedParameters(this.connection);
    this.connection.on('readyForQuery', ({ status }: { status: string }) => (this.isInTransaction = status !== 'I'));
    this.on('error', () => undefined);
    this.once('end', () => clients.delete(this));
    const query = this.query.bind(this) as (...given: unknown[]) => unknown;
    this.query = ((...asked: unknown[]) => this.watch(query(...asked))) as typeof this.query;
  }

  override connect(): Promise<Client>;
  override connect(connected: Connected): void;
  override connect(connected?: Connected): Promise<Client> | void {
    const connecting = this.begin();
    if (!connected) return connecting;
    // Not in the promise: what the pool's callback throws is not ours.
    connecting.then(
      () => process.nextTick(connected, null, this),
      (error: unknown) => process.nextTick(connected, error),
    );
  }

  /**
   * What pg sends when a session starts. The database, the user, or the URL may set another format of dates, which pg reads as
   * null. PgBouncer accepts this parameter; it refuses `options`.
   *
   * @internal
   */
  getStartupConf(): object {
    return { ...startupOf(this), DateStyle: 'ISO' };
  }

  private async begin(): Promise<Client> {
    if (this.unreadable) throw this.unreadable;
    return this.server ? this.connectTo(this.server) : this.open();
  }

  private async connectTo(server: WritableServer): Promise<Client> {
    const askedAt = performance.now();
    const address = await server.find(this.config);
    const openedAt = performance.now();
    Object.assign(this, address);
    this.on('error', () => server.forget(address));
    try {
      await this.open();
      if (!(await this.reported.isWritable(this))) throw new ReadOnlySessionError();
      return this;
    } catch (error) {
      if (!this.isCutShort(askedAt, openedAt)) server.forget(address);
      clients.delete(this);
      void this.end().catch(() => undefined);
      throw error;
    }
  }

  /**
   * The search used up most of the pool's time. What was found is right all the same, and must stay, or no client would ever
   * connect while a session takes more than half of the limit to start.
   */
  private isCutShort(askedAt: number, openedAt: number): boolean {
    const limitMs = this.config.connectionTimeoutMillis ?? CONNECT_MS;
    const now = performance.now();
    return now - askedAt >= limitMs * 0.95 && now - openedAt < limitMs * 0.9;
  }

  /** It is not among the open clients before: its socket has no listener, so cutting it would end the process. */
  private async open(): Promise<Client> {
    clients.add(this);
    try {
      await super.connect();
      return this;
    } catch (error) {
      // pg may tell of no end.
      clients.delete(this);
      throw error;
    }
  }

  private watch(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer;
    const askedAt = ++questions;
    this.unanswered += 1;
    answer.then(
      () => this.heard(),
      (error: unknown) => this.failed(error, askedAt),
    );
    return answer;
  }

  private heard(): void {
    this.unanswered -= 1;
    this.heardAt = questions;
  }

  private failed(error: unknown, askedAt: number): void {
    this.heard();
    // What was sent after the end says nothing new about the others.
    if (!isSessionLost(error) || this.isGone) return;
    this.isGone = true;
    if (isUnanswered(error)) {
      hangUp(this, silence());
      this.hangUpBeside(({ heardAt }) => heardAt < askedAt, silence);
    } else {
      // At once, before the caller releases it: the pool discards a client that is ending.
      void this.end().catch(() => undefined);
      if (isReadOnlySession(error)) void this.leaveReadOnlyServer();
    }
  }

  /** Not if only its own transaction or session is read-only. Behind a pooler no session says so: a new one is asked. */
  private async leaveReadOnlyServer(): Promise<void> {
    const { saysWritable } = this.reported;
    if (saysWritable ?? (await takesWrites(this.config, this))) return;
    this.hangUpBeside(
      ({ isInTransaction }) => !isInTransaction,
      () => new ReadOnlySessionError(),
    );
  }

  /** The pool notices only those that fail, so they get an error; each its own: urllib marks it, and only once. */
  private hangUpBeside(isMeant: (client: ResilientClient) => boolean, why: () => Error): void {
    for (const client of clients) {
      const isBeside = client !== this && client.host === this.host && client.port === this.port;
      if (isBeside && client.unanswered === 0 && !client.isGone && isMeant(client)) {
        client.isGone = true;
        hangUp(client, why());
      }
    }
  }
}

/** The types of pg do not name it. */
function startupOf(client: Client): object {
  return (Client.prototype as unknown as ResilientClient).getStartupConf.call(client);
}

const silence = (): Error =>
  new NoAnswerError('a connection beside this one had no answer; this one is closed as well');

/**
 * Each client reads the files that its URL names anew, as that of a certificate. One that is being replaced ends no process:
 * the pool makes clients where nobody would catch it.
 */
function unreadableFile(config: ClientConfig): Error | undefined {
  try {
    void new Client(config);
    return undefined;
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).syscall !== 'string') throw error;
    return error as Error;
  }
}

/** The password of a pool's options is hidden from copies. */
function withDefaults(config: ClientConfig, { password }: ClientConfig): ClientConfig {
  return {
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...config,
    ...(password === undefined ? {} : { password }),
  };
}

/** Where a server listens. */
type ServerAddress = Readonly<Pick<Client, 'host' | 'port'>>;

/** Which server of a list takes writes. Shared by all clients of the process that name the same servers. */
class WritableServer {
  private static readonly known = new Map<string, WritableServer>();
  private found: ServerAddress | undefined;
  private search: Promise<ServerAddress> | undefined;

  private constructor(private readonly urls: readonly string[]) {}

  static of(urls: readonly string[]): WritableServer {
    const key = urls.join(' ');
    const server = this.known.get(key) ?? new WritableServer(urls);
    this.known.set(key, server);
    return server;
  }

  /**
   * The server that took writes last, else the first that does now. All are asked at the same time, so that a server that is
   * gone delays nobody.
   *
   * @throws NoWritableServerError, or what a server says of a wrong login
   */
  find(config: ClientConfig): Promise<ServerAddress> {
    if (this.found !== undefined) return Promise.resolve(this.found);
    this.search ??= this.ask(config).finally(() => (this.search = undefined));
    return this.search;
  }

  /** The server does not answer, or takes no writes: the next client asks all again. */
  forget(server: ServerAddress): void {
    if (this.found === server) this.found = undefined;
  }

  private async ask(config: ClientConfig): Promise<ServerAddress> {
    const answers = this.urls.map((url) => whenWritable(new Client({ ...config, connectionString: url }), addressOf));
    try {
      this.found = await Promise.any(answers);
      return this.found;
    } catch (error) {
      const failures = (error as AggregateError).errors as UnusableServer[];
      // The answer of one server holds for all.
      const refusal = failures.find(({ why }) => isLoginRefused(why));
      throw refusal ? refusal.why : new NoWritableServerError(failures.map(({ message }) => message));
    }
  }
}

/**
 * The servers of a URL that take writes, by host and port: more than one is a split. Two ways to one server, as through
 * two poolers, count once. Never rejects.
 */
export async function writableServers(url: string): Promise<readonly string[]> {
  const { urls = [] } = parseServerUrls(url) ?? {};
  const starts = await Promise.all(urls.map((each) => startOf(each).catch(() => [])));
  return [...new Map(starts.flat()).values()];
}

/** When the server was started, and where it listens. */
async function startOf(url: string): Promise<(readonly [started: string, address: string])[]> {
  return whenWritable(new Client(withDefaults({ connectionString: url }, {})), async (client) => {
    const { rows } = await client.query<{ started: string }>('SELECT pg_postmaster_start_time()::text AS started');
    return rows.map(({ started }) => [started, `${client.host}:${client.port}`]);
  });
}

/** Why a server cannot be used, with its name and without its login. */
class UnusableServer extends Error {
  constructor(
    { host, port }: ServerAddress,
    readonly why: unknown,
  ) {
    super(`${host}:${port} ${why instanceof Error ? why.message : String(why)}`);
  }
}

/** Whether a new session of this server takes writes; not if there is none to be had. */
function takesWrites(config: ClientConfig, { host, port }: ServerAddress): Promise<boolean> {
  return whenWritable(Object.assign(new Client(config), { host, port }), addressOf).then(
    () => true,
    () => false,
  );
}

const addressOf = ({ host, port }: Client): ServerAddress => ({ host, port });

/** Connects, and uses the session if it takes writes. @throws UnusableServer */
async function whenWritable<T>(client: Client, use: (client: Client) => T | Promise<T>): Promise<T> {
  client.on('error', () => undefined);
  const reported = new ReportedParameters(client.connection);
  const address = addressOf(client);
  try {
    await client.connect();
    if (await reported.isWritable(client)) return await use(client);
  } catch (error) {
    throw new UnusableServer(address, error);
  } finally {
    void client.end().catch(() => undefined);
  }
  throw new UnusableServer(address, 'takes no writes');
}

/** PostgreSQL 14 and later report these to every session at its start, and when they change. */
const REPORTED = ['in_hot_standby', 'default_transaction_read_only'];

interface Parameter {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** Collects what a server says of itself while a session starts. Must be made before the client connects. */
class ReportedParameters {
  private readonly values = new Map<string, string>();

  constructor(connection: NodeJS.EventEmitter) {
    connection.on('parameterStatus', ({ parameterName, parameterValue }: Parameter) => {
      if (REPORTED.includes(parameterName)) this.values.set(parameterName, parameterValue);
    });
  }

  /** Whether the server says that the session takes writes. Undefined if a pooler does not pass it on. */
  get saysWritable(): boolean | undefined {
    const values = REPORTED.map((name) => this.values.get(name));
    if (values.includes('on')) return false;
    return values.includes(undefined) ? undefined : true;
  }

  /** Whether the session takes writes. Costs a round trip only if a pooler does not report it. */
  async isWritable(client: ClientBase): Promise<boolean> {
    if (this.saysWritable !== undefined) return this.saysWritable;
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    return rows[0]?.transaction_read_only === 'off';
  }
}

/** Scheme and login, hosts, and all the rest of a URL of PostgreSQL. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;

/** libpq's names of sessions that must take writes. Only `primary` accepts a primary with default_transaction_read_only. */
const WRITING = ['read-write', 'primary'];

/** The servers that a URL names. */
interface ServerUrls {
  /** One URL for each, with the login and the options of all. */
  readonly urls: readonly string[];
  /** Sessions must take writes: there are several servers, or the URL says so. */
  readonly mustWrite: boolean;
}

/**
 * Pure: splits URLs that libpq understands and `new URL` does not, such as `postgresql://login@host1:5432,host2/db`.
 *
 * @returns undefined when it is no URL of PostgreSQL
 */
export function parseServerUrls(url: string): ServerUrls | undefined {
  const [, before = '', hosts = '', after = ''] = URL_PARTS.exec(url) ?? [];
  const urls = hosts.split(',').map((host) => `${before}${host}${after}`);
  if (before === '' || !urls.every((each) => URL.canParse(each))) return undefined;
  const wanted = wantedSession(urls);
  return { urls, mustWrite: urls.length > 1 || (wanted !== null && WRITING.includes(wanted)) };
}

/** Pure: what is wrong with the option `target_session_attrs` of these servers, if anything. */
export function findSessionProblem({ urls }: ServerUrls): string | undefined {
  const wanted = wantedSession(urls);
  const isKnown = wanted === null || WRITING.includes(wanted) || (wanted === 'any' && urls.length === 1);
  return isKnown ? undefined : `target_session_attrs must be ${WRITING.join(' or ')}: a standby takes no orders`;
}

const wantedSession = ([url = '']: readonly string[]): string | null =>
  new URL(url).searchParams.get('target_session_attrs');

/** The parts of a pooled connection that we use; pg's native client has no stream. */
export type PooledClient = Partial<Pick<Client, 'connection' | 'end' | 'host' | 'port'>> & {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
};

const CANCEL_CODE = 80_877_102;

const CANCEL_LIMIT_MS = 2_000;

/** Closes a connection that has not answered, at once. Its callers fail with `why`, and the pool opens another one. */
export function hangUp(client: PooledClient | undefined, why: Error): void {
  if (client?.connection) client.connection.stream.destroy(why);
  else discard(client);
}

/** Ends an idle connection, so that its pool drops it when it is released. */
export function discard(client: PooledClient | undefined): void {
  void client?.end?.().catch(() => undefined);
}

/** Closes an idle connection that may be dead, and does not wait for the server. */
export function drop(client: PooledClient | undefined): void {
  discard(client);
  client?.connection?.stream.destroy();
}

/**
 * Asks the server to cancel a session's statement, as psql does at Ctrl-C. Otherwise a statement that waits for a lock would
 * go on after we have left, and so would each retry, until the server has no session left.
 */
export function cancel({ host, port, processID, secretKey }: PooledClient): void {
  if (typeof processID !== 'number' || typeof secretKey !== 'number' || !host || host.startsWith('/')) return;
  const request = Buffer.alloc(16);
  [request.length, CANCEL_CODE, processID, secretKey].forEach((word, index) => request.writeInt32BE(word, index * 4));
  const socket = connect({ host, port: port ?? 5_432 });
  socket.on('error', () => undefined);
  socket.setTimeout(CANCEL_LIMIT_MS, () => socket.destroy()).unref();
  socket.end(request);
}

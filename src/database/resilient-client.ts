import { Client, type ClientConfig } from 'pg';
import { hangUp } from './hang-up';
import { isReadOnly, isSessionLost, isUnanswered } from './session-lost';
import { NoAnswerError } from './no-answer-error';
import { ReadOnlySessionError } from './read-only-session-error';
import { ReportedParameters } from './reported-parameters';
import { parseServerUrls } from './server-urls';
import { takesWrites, WritableServer } from './writable-server';

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

  constructor(config?: string | ClientConfig) {
    const given = typeof config === 'string' ? { connectionString: config } : (config ?? {});
    const servers = given.connectionString === undefined ? undefined : parseServerUrls(given.connectionString);
    const [connectionString = given.connectionString] = servers?.urls ?? [];
    const whole = withDefaults({ ...given, ...(connectionString === undefined ? {} : { connectionString }) }, given);
    super(whole);
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
    const connecting = this.server ? this.connectTo(this.server) : this.open();
    if (!connected) return connecting;
    // Not in the promise: what the pool's callback throws is not ours.
    connecting.then(
      () => process.nextTick(connected, null, this),
      (error: unknown) => process.nextTick(connected, error),
    );
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
      if (isReadOnly(error)) void this.leaveReadOnlyServer();
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

const silence = (): Error => new NoAnswerError('a connection beside this one had no answer');

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

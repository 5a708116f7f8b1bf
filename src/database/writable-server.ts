import { Client, type ClientConfig } from 'pg';
import { isLoginRefused } from './database-errors';
import { NoWritableServerError } from './no-writable-server-error';
import { ReportedParameters } from './reported-parameters';

/** Where a server listens. */
export type ServerAddress = Readonly<Pick<Client, 'host' | 'port'>>;

/** Which server of a list takes writes. Shared by all clients of the process that name the same servers. */
export class WritableServer {
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
    const answers = this.urls.map((url) => whenWritable(new Client({ ...config, connectionString: url })));
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
export function takesWrites(config: ClientConfig, { host, port }: ServerAddress): Promise<boolean> {
  return whenWritable(Object.assign(new Client(config), { host, port })).then(
    () => true,
    () => false,
  );
}

async function whenWritable(client: Client): Promise<ServerAddress> {
  client.on('error', () => undefined);
  const reported = new ReportedParameters(client.connection);
  const { host, port } = client;
  try {
    await client.connect();
    if (await reported.isWritable(client)) return { host, port };
  } catch (error) {
    throw new UnusableServer({ host, port }, error);
  } finally {
    void client.end().catch(() => undefined);
  }
  throw new UnusableServer({ host, port }, 'takes no writes');
}

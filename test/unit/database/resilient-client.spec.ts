import { Client } from 'pg';
import { ResilientClient } from '../../../src/database';
import { NoAnswerError } from '../../../src/database/errors';

/** Nothing listens on ports 1 and 2. */
const SERVER = 'postgresql://u:p@127.0.0.1:1/db';
const SERVERS = 'postgresql://u:p@127.0.0.1:1,127.0.0.1:2/db?target_session_attrs=read-write';

const readOnly = (): Error => Object.assign(new Error('read-only transaction'), { code: '25006' });

describe('when a statement on another connection fails, a client', () => {
  let clients: ResilientClient[];

  beforeEach(() => (clients = []));
  afterEach(() => {
    jest.restoreAllMocks();
    // Nobody is connected: the end takes them out of what is open.
    for (const client of clients) client.emit('end');
  });

  function make(url: string): ResilientClient {
    const client = new ResilientClient(url);
    clients.push(client);
    return client;
  }

  async function connected(): Promise<ResilientClient> {
    const connecting = (jest.spyOn(Client.prototype, 'connect') as jest.SpyInstance).mockResolvedValue(undefined);
    const client = make(SERVER);
    await client.connect();
    connecting.mockRestore();
    return client;
  }

  const say = (client: ResilientClient, parameterName: string, parameterValue: string): boolean =>
    client.connection.emit('parameterStatus', { parameterName, parameterValue });

  /** Whether `client` is cut when a statement of `failing` fails with `error`. A new session says `readOnly` of itself. */
  async function isCut(
    client: ResilientClient,
    error: Error,
    { prepare, readOnly: ofNew = 'on' }: { prepare?: (failing: ResilientClient) => void; readOnly?: 'on' | 'off' } = {},
  ) {
    const cut = jest.spyOn(client.connection.stream, 'destroy').mockReturnThis();
    (jest.spyOn(Client.prototype, 'connect') as jest.SpyInstance).mockResolvedValue(undefined);
    (jest.spyOn(Client.prototype, 'query') as jest.SpyInstance)
      .mockRejectedValueOnce(error)
      .mockResolvedValue({ rows: [{ transaction_read_only: ofNew }] });
    const failing = make(SERVER);
    jest.spyOn(failing.connection.stream, 'destroy').mockReturnThis();
    prepare?.(failing);
    await expect(failing.query('SELECT 1')).rejects.toBe(error);
    await new Promise(setImmediate);
    return cut.mock.calls.length > 0;
  }

  it('that is idle is closed, be it silence or a server that takes no writes', async () => {
    expect(await isCut(await connected(), new NoAnswerError('silence'))).toBe(true);
    expect(await isCut(await connected(), readOnly())).toBe(true);
  });

  it('that still looks for its server is not open: nobody would hear the error of its socket', async () => {
    const client = make(SERVERS);
    const connecting = client.connect().catch((error: unknown) => error);
    expect(await isCut(client, readOnly())).toBe(false);
    jest.restoreAllMocks();
    await connecting;
  });

  it('that could not connect is not open', async () => {
    const client = make(SERVERS);
    await expect(client.connect()).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/NO_WRITABLE_SERVER' });
    expect(await isCut(client, readOnly())).toBe(false);
  });

  it.each(['T', 'E'])(
    'that is in a transaction (%s) finds out itself that the server takes no writes',
    async (status) => {
      const client = await connected();
      client.connection.emit('readyForQuery', { status });
      expect(await isCut(client, readOnly())).toBe(false);
      client.connection.emit('readyForQuery', { status: 'I' });
      expect(await isCut(client, readOnly())).toBe(true);
    },
  );

  it('stays behind a pooler, which says nothing, when a new session takes writes', async () => {
    expect(await isCut(await connected(), readOnly(), { readOnly: 'off' })).toBe(false);
    expect(await isCut(await connected(), readOnly(), { readOnly: 'on' })).toBe(true);
  });

  it('stays when the other one’s server takes writes, and only its transaction does not', async () => {
    const client = await connected();
    const takesWrites = (failing: ResilientClient): void => {
      say(failing, 'in_hot_standby', 'off');
      say(failing, 'default_transaction_read_only', 'off');
    };
    expect(await isCut(client, readOnly(), { prepare: takesWrites })).toBe(false);
    const takesNone = (failing: ResilientClient): void => {
      takesWrites(failing);
      say(failing, 'default_transaction_read_only', 'on');
    };
    expect(await isCut(client, readOnly(), { prepare: takesNone })).toBe(true);
  });
});

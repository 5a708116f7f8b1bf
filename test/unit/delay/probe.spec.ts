import { EventEmitter } from 'node:events';
import { SystemClock } from '../../../src/clock';
import { probeDelayedExchange, type ProbeResult } from '../../../src/delay';
import { type ChannelModel } from '../../../src/rabbit';

interface Script {
  declare?: (connection: EventEmitter) => Promise<void>;
  remove?: () => Promise<void>;
}

function brokerThat({ declare = async () => undefined, remove = async () => undefined }: Script) {
  const connection = new EventEmitter();
  const calls: string[] = [];
  const channel = Object.assign(new EventEmitter(), {
    assertExchange: async (name: string, type: string) => {
      calls.push(`declare ${name} ${type}`);
      await declare(connection);
    },
    deleteExchange: async (name: string) => {
      calls.push(`delete ${name}`);
      await remove();
    },
  });
  const model = Object.assign(connection, {
    createChannel: async () => channel,
    close: async () => void calls.push('close'),
  });
  return { calls, open: async () => model as unknown as ChannelModel };
}

const coded = (code: number, message: string): Error => Object.assign(new Error(message), { code });
const silence = (): Promise<never> => new Promise(() => undefined);
const probe = (open: () => Promise<ChannelModel>, timeoutMs = 2_000): Promise<ProbeResult> =>
  probeDelayedExchange(open, { timeoutMs, clock: new SystemClock() });

describe('probeDelayedExchange', () => {
  it('says present when the broker takes the exchange, and removes it and the connection', async () => {
    const { calls, open } = brokerThat({});
    expect(await probe(open)).toEqual({ type: 'present' });
    expect(calls).toEqual([
      'declare order-timeout.v1.probe x-delayed-message',
      'delete order-timeout.v1.probe',
      'close',
    ]);
  });

  it('says absent when the connection is closed with 503 (up to 3.13)', async () => {
    const { open } = brokerThat({
      declare: async (connection) => {
        const error = coded(503, `COMMAND_INVALID - unknown exchange type 'x-delayed-message'`);
        setImmediate(() => connection.emit('error', error));
        throw new Error('Channel ended, no reply will be forthcoming');
      },
    });
    expect(await probe(open)).toEqual({ type: 'absent' });
  });

  it('says absent when the channel is closed with 406 (from 4.0)', async () => {
    const { calls, open } = brokerThat({
      declare: () => Promise.reject(coded(406, `PRECONDITION_FAILED - unknown exchange type 'x-delayed-message'`)),
    });
    expect(await probe(open)).toEqual({ type: 'absent' });
    expect(calls.at(-1)).toBe('close');
  });

  it.each([
    ['may not configure', coded(403, `ACCESS_REFUSED - configure access to exchange refused`)],
    ['has an exchange of that name', coded(406, `PRECONDITION_FAILED - inequivalent arg 'type' for exchange`)],
    ['was shut down', coded(320, 'CONNECTION_FORCED - broker forced connection closure')],
    ['failed inside', coded(541, 'INTERNAL_ERROR')],
  ])('says unknown when it %s', async (_, error) => {
    const { open } = brokerThat({ declare: () => Promise.reject(error) });
    expect(await probe(open)).toEqual({ type: 'unknown', reason: error.message });
  });

  it('says unknown when the connection breaks without a word', async () => {
    const { open } = brokerThat({
      declare: async (connection) => {
        connection.emit('close');
        throw new Error('Channel ended, no reply will be forthcoming');
      },
    });
    expect(await probe(open)).toEqual({ type: 'unknown', reason: 'the connection was closed' });
  });

  it('says unknown, with the request error, when the connection does not explain it', async () => {
    const { open } = brokerThat({ declare: () => Promise.reject(new Error('No channels left to allocate')) });
    expect(await probe(open)).toEqual({ type: 'unknown', reason: 'No channels left to allocate' });
  });

  it('says unknown when there is no connection', async () => {
    const open = (): Promise<ChannelModel> => Promise.reject(coded(111, 'connect ECONNREFUSED'));
    expect(await probe(open)).toEqual({ type: 'unknown', reason: 'connect ECONNREFUSED' });
  });

  it('says unknown when connecting throws at once', async () => {
    const open = (): Promise<ChannelModel> => {
      throw new Error('Expected amqp: or amqps: as the protocol');
    };
    expect(await probe(open)).toMatchObject({ type: 'unknown' });
  });

  it('gives up on a broker that does not answer, and still closes the connection', async () => {
    const { calls, open } = brokerThat({ declare: silence });
    expect(await probe(open, 20)).toMatchObject({ type: 'unknown', reason: expect.stringMatching('20 ms') as string });
    expect(calls.at(-1)).toBe('close');
  });

  it('is not shaken by a failure after the answer', async () => {
    const { open } = brokerThat({ remove: () => Promise.reject(coded(403, 'ACCESS_REFUSED')) });
    expect(await probe(open)).toEqual({ type: 'present' });
  });
});

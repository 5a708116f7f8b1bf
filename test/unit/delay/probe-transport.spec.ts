import { EventEmitter } from 'node:events';
import { SystemClock } from '../../../src/clock';
import { DelayedExchange, Ladder, probeTransport, type ProbeResult } from '../../../src/delay';
import { type ChannelModel, TopologyNames } from '../../../src/rabbit';

interface Script {
  declare?: (connection: EventEmitter) => Promise<void>;
  /** What happens to the message. `deliver` passes it to the probe's queue. */
  publish?: (connection: EventEmitter, confirm: (error?: Error) => void, deliver: () => void) => void;
}

const names = new TopologyNames('order-timeout.v1');
const plugin = new DelayedExchange(names);

function brokerThat({
  declare = async () => undefined,
  publish = (_, confirm, deliver) => (confirm(), deliver()),
}: Script) {
  const connection = new EventEmitter();
  const calls: string[] = [];
  let deliver = (): void => undefined;
  const channel = Object.assign(new EventEmitter(), {
    assertExchange: async (name: string, type: string) => {
      calls.push(`declare ${name} ${type}`);
      await declare(connection);
    },
    bindExchange: async () => undefined,
    assertQueue: async () => undefined,
    bindQueue: async () => undefined,
    consume: async (_: string, received: () => void) => void (deliver = received),
    publish: (exchange: string, _key: string, _body: Buffer, _options: object, confirm: (error?: Error) => void) => {
      calls.push(`publish ${exchange}`);
      publish(connection, confirm, () => deliver());
    },
  });
  const model = Object.assign(connection, {
    createConfirmChannel: async () => channel,
    close: async () => void calls.push('close'),
  });
  return { calls, channel, open: async () => model as unknown as ChannelModel };
}

const coded = (code: number, message: string): Error => Object.assign(new Error(message), { code });
const silence = (): Promise<never> => new Promise(() => undefined);
const probe = (open: () => Promise<ChannelModel>, timeoutMs = 2_000): Promise<ProbeResult> =>
  probeTransport(open, plugin, { timeoutMs, clock: new SystemClock() });

describe('probeTransport', () => {
  it('returns works if its message arrives, and closes the connection', async () => {
    const { calls, open } = brokerThat({});
    expect(await probe(open)).toEqual({ type: 'works' });
    expect(calls).toEqual([
      'declare order-timeout.v1.delayed x-delayed-message',
      'publish order-timeout.v1.delayed',
      'close',
    ]);
  });

  it('returns absent if the connection is closed with 503 (up to 3.13)', async () => {
    const { open } = brokerThat({
      declare: async (connection) => {
        const error = coded(503, `COMMAND_INVALID - unknown exchange type 'x-delayed-message'`);
        setImmediate(() => connection.emit('error', error));
        throw new Error('Channel ended, no reply will be forthcoming');
      },
    });
    expect(await probe(open)).toEqual({ type: 'absent' });
  });

  it('returns absent if the channel is closed with 406 (from 4.0)', async () => {
    const { calls, open } = brokerThat({
      declare: () => Promise.reject(coded(406, `PRECONDITION_FAILED - unknown exchange type 'x-delayed-message'`)),
    });
    expect(await probe(open)).toEqual({ type: 'absent' });
    expect(calls.at(-1)).toBe('close');
  });

  it('returns unusable if the message closes the connection with 541', async () => {
    const { open } = brokerThat({
      publish: (connection, confirm) => {
        setImmediate(() => connection.emit('error', coded(541, 'Connection closed: 541 (INTERNAL-ERROR)')));
        confirm(new Error('channel closed'));
      },
    });
    expect(await probe(open)).toEqual({ type: 'unusable', reason: 'Connection closed: 541 (INTERNAL-ERROR)' });
  });

  it('returns unusable if the message was confirmed and never arrives', async () => {
    const { open } = brokerThat({ publish: (_, confirm) => confirm() });
    const result = await probe(open, 20);
    expect(result).toEqual({
      type: 'unusable',
      reason: expect.stringMatching('confirmed but not delivered') as string,
    });
  });

  it.each([
    ['may not configure', coded(403, `ACCESS_REFUSED - configure access to exchange refused`)],
    ['has an exchange of that name', coded(406, `PRECONDITION_FAILED - inequivalent arg 'type' for exchange`)],
    ['was shut down', coded(320, 'CONNECTION_FORCED - broker forced connection closure')],
  ])('returns unknown if it %s', async (_, error) => {
    const { open } = brokerThat({ declare: () => Promise.reject(error) });
    expect(await probe(open)).toEqual({ type: 'unknown', reason: error.message });
  });

  it('returns unknown if the connection breaks without a reason', async () => {
    const { open } = brokerThat({
      declare: async (connection) => {
        connection.emit('close');
        throw new Error('Channel ended, no reply will be forthcoming');
      },
    });
    expect(await probe(open)).toEqual({ type: 'unknown', reason: 'the connection was closed' });
  });

  it('returns unknown with the error of the request if the connection gives no reason', async () => {
    const { open } = brokerThat({ declare: () => Promise.reject(new Error('No channels left to allocate')) });
    expect(await probe(open)).toEqual({ type: 'unknown', reason: 'No channels left to allocate' });
  });

  it('returns unknown if there is no connection', async () => {
    const open = (): Promise<ChannelModel> => Promise.reject(coded(111, 'connect ECONNREFUSED'));
    expect(await probe(open)).toEqual({ type: 'unknown', reason: 'connect ECONNREFUSED' });
  });

  it('returns unknown if connecting throws immediately', async () => {
    const open = (): Promise<ChannelModel> => {
      throw new Error('Expected amqp: or amqps: as the protocol');
    };
    expect(await probe(open)).toMatchObject({ type: 'unknown' });
  });

  it('gives up on a broker that does not respond, and still closes the connection', async () => {
    const { calls, open } = brokerThat({ declare: silence });
    expect(await probe(open, 20)).toMatchObject({ type: 'unknown', reason: expect.stringMatching('20 ms') as string });
    expect(calls.at(-1)).toBe('close');
  });

  it('returns unknown while the broker has an alarm and accepts no messages', async () => {
    const { open } = brokerThat({ publish: (connection) => void connection.emit('blocked', 'low on memory') });
    expect(await probe(open, 20)).toMatchObject({ type: 'unknown', reason: expect.stringMatching('alarm') as string });
  });

  it('does not wait for an hour if the unit of the ladder is hours', async () => {
    const { calls, open } = brokerThat({});
    const ladder = new Ladder(names, { unitMs: 3_600_000 });
    expect(await probeTransport(open, ladder)).toMatchObject({ type: 'unknown' });
    expect(calls).toEqual([]);
  });
});

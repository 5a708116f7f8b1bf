import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { type DelayTransportSetting, type LadderOptions } from '../../../src/delay';
import { DelayedExchangeMissingError, DelayedExchangeUnusableError } from '../../../src/delay/delay-transport';
import {
  type Channel,
  type ChannelModel,
  type RabbitClient,
  resolveRabbitOptions,
  TopologyNames,
} from '../../../src/rabbit';
import { TimeoutObservers } from '../../../src/timeouts';
import { type ResolvedTimeoutsOptions } from '../../../src/timeouts/model/timeouts-options';
import { TransportSwitch } from '../../../src/timeouts/message-path/transport-switch';
import { ManualClock } from '../../support/manual-clock';

/** What the broker's plugin does. `fails`: every message ends the connection with 541, as with Khepri on 4.0. */
type Plugin = 'works' | 'absent' | 'fails';

const MINUTE = 60_000;

function setup(transport: DelayTransportSetting, urls = ['amqp://one'], ladder: LadderOptions = {}) {
  const broker = { plugin: 'works' as Plugin, probes: 0, isReady: true, isRefusing: false };
  const bound: string[] = [];
  const open = () => {
    const connection = new EventEmitter();
    let deliver = (): void => undefined;
    const channel = Object.assign(new EventEmitter(), {
      assertExchange: async (_: string, type: string) => {
        if (broker.isRefusing) throw new Error('refused');
        const isRefused = type === 'x-delayed-message' && broker.plugin === 'absent';
        if (isRefused) throw Object.assign(new Error(`unknown exchange type 'x-delayed-message'`), { code: 406 });
      },
      checkExchange: async () => undefined,
      assertQueue: async () => undefined,
      bindExchange: async () => undefined,
      close: async () => undefined,
      bindQueue: async (queue: string, exchange: string) => void bound.push(`${queue} to ${exchange}`),
      consume: async (_: string, received: () => void) => void (deliver = received),
      publish: (_exchange: string, _key: string, _body: Buffer, _options: object, confirm: (error?: Error) => void) => {
        broker.probes += 1;
        const fault = Object.assign(new Error('Connection closed: 541 (INTERNAL-ERROR)'), { code: 541 });
        if (broker.plugin === 'fails') return connection.emit('error', fault);
        confirm();
        deliver();
      },
    });
    const createChannel = async () => channel;
    return Object.assign(connection, {
      ...{ createChannel, createConfirmChannel: createChannel, close: async () => undefined, channel },
    });
  };
  const names = new TopologyNames('p');
  const options = resolveRabbitOptions({ urls, prefix: 'p', queueType: 'classic' });
  let declare: (channel: Channel, model: ChannelModel) => Promise<void> = () => Promise.resolve();
  const client = {
    ...{ names, options, temporaryConnection: async () => open() },
    onTemporaryConnection: async <T>(work: (connection: unknown) => Promise<T>) => work(open()),
    wakeUpPublisher: {
      get isReady() {
        return broker.isReady;
      },
    },
    declareBeforeWakeUps: (given: typeof declare) => void (declare = given),
  } as unknown as RabbitClient;
  const clock = new ManualClock();
  const refusals: boolean[] = [];
  const transportSwitch = new TransportSwitch(
    {
      client,
      options: {
        transport,
        rabbit: options,
        ladder,
        horizonMs: ladder.unitMs ?? 1_000,
      } as ResolvedTimeoutsOptions,
      observer: new TimeoutObservers(),
      kinds: () => ['test'],
      declared: (wasRefused) => void refusals.push(wasRefused),
    },
    clock,
  );
  const connect = (): Promise<void> => {
    const connection = open();
    return declare(connection.channel as unknown as Channel, connection as unknown as ChannelModel);
  };
  return { transportSwitch, broker, clock, connect, bound, refusals, channel: open().channel as unknown as Channel };
}

describe('the choice of the transport', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('follows a plugin that is disabled and enabled while connected', async () => {
    const { transportSwitch, broker, connect, clock, bound } = setup('auto');
    await connect();
    expect(transportSwitch.current).toBe('delayed-exchange');
    broker.plugin = 'absent';
    await transportSwitch.reconsider();
    expect(transportSwitch.current).toBe('ladder');
    expect(bound.at(-1)).toBe('p.work.test to p.delay-classic.delivery');
    clock.advance(10 * MINUTE);
    broker.plugin = 'works';
    await transportSwitch.reconsider();
    expect(transportSwitch.current).toBe('delayed-exchange');
    expect(bound.at(-1)).toBe('p.work.test to p.delayed');
  });

  it('does not go to and fro: what it has left must not come back within ten minutes', async () => {
    const { transportSwitch, broker, connect, clock } = setup('auto');
    await connect();
    for (let minute = 0; minute < 10; minute += 1) {
      broker.plugin = minute % 2 === 0 ? 'absent' : 'works';
      await (minute % 3 === 0 ? connect() : transportSwitch.reconsider());
      expect(transportSwitch.current).toBe('ladder');
      clock.advance(MINUTE - 1);
    }
  });

  it('takes the ladder after a reconnect when every message ends the connection with 541', async () => {
    const { transportSwitch, broker, connect } = setup('auto');
    await connect();
    broker.plugin = 'fails';
    await connect();
    expect(transportSwitch.current).toBe('ladder');
  });

  it('leaves a plugin that fails twice in a row while connected, and not one that failed once', async () => {
    const { transportSwitch, broker, connect } = setup('auto');
    await connect();
    broker.plugin = 'fails';
    await transportSwitch.reconsider();
    broker.plugin = 'works';
    await transportSwitch.reconsider();
    broker.plugin = 'fails';
    await transportSwitch.reconsider();
    expect(transportSwitch.current).toBe('delayed-exchange');
    await transportSwitch.reconsider();
    expect(transportSwitch.current).toBe('ladder');
  });

  it('is the ladder for a cluster, without asking for the plugin', async () => {
    const { transportSwitch, broker, connect } = setup('auto', ['amqp://one', 'amqp://two']);
    await connect();
    await transportSwitch.reconsider();
    expect(transportSwitch.current).toBe('ladder');
    expect(broker.probes).toBe(0);
  });

  it('insists on a plugin that is configured, and tells when it comes back that what waited in it is lost', async () => {
    const { broker, connect, refusals } = setup('delayed-exchange');
    await connect();
    broker.plugin = 'fails';
    await expect(connect()).rejects.toThrow(DelayedExchangeUnusableError);
    broker.plugin = 'absent';
    await expect(connect()).rejects.toThrow(DelayedExchangeMissingError);
    broker.plugin = 'works';
    await connect();
    await connect();
    expect(refusals).toEqual([false, true, false]);
  });

  it('is restored without a message where one unit of the ladder is too long to wait for it', async () => {
    const { transportSwitch, broker, connect, bound } = setup('ladder', ['amqp://one'], { unitMs: 60_000 });
    await connect();
    bound.length = 0;
    expect(await transportSwitch.restore()).toEqual({ type: 'works' });
    expect(bound.at(-1)).toBe('p.work.test to p.delay-b64-u60000-classic.delivery');
    expect(broker.probes).toBe(0);
  });

  it('is not restored where it cannot be declared again, as long as the unit is', async () => {
    const { transportSwitch, broker, connect } = setup('ladder', ['amqp://one'], { unitMs: 60_000 });
    await connect();
    broker.isRefusing = true;
    expect(await transportSwitch.restore()).toEqual({ type: 'unknown', reason: 'Error: refused' });
  });

  it('binds no queue to what is not declared on this connection yet', async () => {
    const { transportSwitch, broker, connect, bound, channel } = setup('ladder');
    await connect();
    bound.length = 0;
    broker.isReady = false;
    await transportSwitch.bind(channel, 'test', 'p.work.test');
    expect(bound).toEqual([]);
    broker.isReady = true;
    await transportSwitch.bind(channel, 'test', 'p.work.test');
    expect(bound).toEqual(['p.work.test to p.delay-classic.delivery']);
  });
});

import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { type ChannelModel, TopologyNames } from '../../../src/rabbit';
import { type EngineSettings, WakeUpRepublisher } from '../../../src/timeouts/message-path/wake-up-republisher';
import { PrefixWatch } from '../../../src/timeouts/message-path/prefix-watch';
import { dataSourceStub } from '../../support/data-source-stub';
import { ManualClock } from '../../support/manual-clock';

const NOW_S = 1_000;

function setup() {
  const values = new Map<string, string>();
  const broker = { isOwned: false, isTakenMeanwhile: false };
  const channel = () =>
    Object.assign(new EventEmitter(), {
      checkExchange: async () => {
        if (!broker.isOwned) throw Object.assign(new Error('no exchange'), { code: 404 });
      },
      assertExchange: async () => void (broker.isOwned = true),
      deleteExchange: async () => void (broker.isOwned = false),
      close: async () => undefined,
    });
  const connection = { createChannel: async () => channel() } as unknown as ChannelModel;
  const settings = {
    databaseId: async () => 'ours',
    age: async () => 0,
    read: async (_: unknown, name: string) => values.get(name),
    write: async (_: unknown, name: string, value: string) => void values.set(name, value),
    lock: async (_: unknown, name: string) => {
      if (name === 'owned-prefix') broker.isOwned ||= broker.isTakenMeanwhile;
      return values.get(name) ?? '';
    },
  } as unknown as EngineSettings;
  const dataSource = dataSourceStub({ query: async () => [{ now: 'now', seconds: NOW_S }] });
  const republication = new WakeUpRepublisher(dataSource, settings, 'order_timeout', 60_000);
  const names = new TopologyNames('p.v1');
  const watch = new PrefixWatch({ dataSource, settings, republication, names }, new ManualClock());
  const inspect = (): Promise<boolean> => watch.inspect(connection);
  const job = (): unknown => JSON.parse(values.get('republication') ?? 'null');
  /** A republication that has come to its 15 000th row. */
  const comeFar = (isRunning: boolean): void => {
    const progress = { isRunning, cause: 'earlier', all: false, kind: 'k', at: 'then', key: 'x', since: 'then' };
    values.set('republication', JSON.stringify({ ...progress, sinceS: NOW_S - 5, rows: 15_000 }));
  };
  return { broker, inspect, job, comeFar };
}

describe('a broker that is found empty', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it.each([
    ['is running', true],
    ['has just ended', false],
  ])('is filled from the start although a republication %s', async (_, isRunning) => {
    const { broker, inspect, job, comeFar } = setup();
    expect(await inspect()).toBe(false);
    comeFar(isRunning);
    broker.isOwned = false;
    expect(await inspect()).toBe(true);
    expect(job()).toMatchObject({ isRunning: true, kind: '', rows: 0 });
    expect(broker.isOwned).toBe(true);
  });

  it('is left to the instance that has taken the prefix meanwhile', async () => {
    const { broker, inspect, job, comeFar } = setup();
    await inspect();
    comeFar(true);
    broker.isOwned = false;
    broker.isTakenMeanwhile = true;
    expect(await inspect()).toBe(false);
    expect(job()).toMatchObject({ rows: 15_000 });
  });
});

import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { type RabbitClient, TopologyNames } from '../../../src/rabbit';
import { type WakeUpRepublisher } from '../../../src/timeouts/message-path/wake-up-republisher';
import { PathRecovery } from '../../../src/timeouts/message-path/path-recovery';
import { dataSourceStub } from '../../support/data-source-stub';
import { ManualClock } from '../../support/manual-clock';

const SECOND = 1_000;
const HOUR = 3_600_000;

function setup() {
  const clock = new ManualClock();
  /** `onAsked` runs while the broker is asked. */
  const state = { unsent: 0, ready: 0, consumers: 1, onAsked: (): void => undefined };
  const counted: [kind: string, count: number][] = [];
  const channel = Object.assign(new EventEmitter(), {
    close: async () => undefined,
    checkQueue: async () => {
      state.onAsked();
      return { messageCount: state.ready, consumerCount: state.consumers };
    },
  });
  const connection = { createChannel: async () => channel, close: async () => undefined };
  const onTemporaryConnection = async <T>(work: (opened: unknown) => Promise<T>) => work(connection);
  const client = { names: new TopologyNames('p'), onTemporaryConnection };
  const dataSource = dataSourceStub({}, async () => [{ kind: 'k', rows: state.unsent }]);
  const recovery = new PathRecovery(
    {
      client: client as unknown as RabbitClient,
      ...{ dataSource, schema: 'order_timeout' },
      switch: { restore: async () => ({ type: 'works' }) },
      republication: {} as WakeUpRepublisher,
      observer: { wakeUpsMissed: (kind, count) => void counted.push([kind, count]) },
    },
    clock,
  );
  /** A run of the sweep that misses so many. */
  const miss = async (count: () => number, kind = 'k'): Promise<boolean> => {
    recovery.missed(kind, count);
    await recovery.examine();
    return recovery.isSuspect;
  };
  const missTwice = async (count: () => number, apartMs = 5 * SECOND): Promise<boolean> => {
    await miss(count);
    clock.advance(apartMs);
    return miss(count);
  };
  return { state, counted, miss, missTwice };
}

describe('a path whose wake-ups are missed', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('is suspect when nothing explains it twice', async () => {
    const { miss } = setup();
    expect(await miss(() => 3)).toBe(false);
    expect(await miss(() => 3, 'other')).toBe(false);
    expect(await miss(() => 3)).toBe(true);
  });

  it('is suspect at the second run too if hours lie between, as in a shop with few orders', async () => {
    expect(await setup().missTwice(() => 1, 20 * HOUR)).toBe(true);
  });

  it('is not suspect when the first of two runs has another explanation', async () => {
    const { state, miss } = setup();
    state.unsent = 3;
    expect(await miss(() => 3)).toBe(false);
    state.unsent = 0;
    expect(await miss(() => 3)).toBe(false);
    expect(await miss(() => 3)).toBe(true);
  });

  it('is not suspect for a kind whose wake-ups have all come meanwhile', async () => {
    const { miss } = setup();
    await miss(() => 3);
    expect(await miss(() => 0)).toBe(false);
  });

  it('is not suspect when as many are still in the outbox or in the work queue', async () => {
    const { state, missTwice } = setup();
    state.unsent = 2;
    state.ready = 1;
    expect(await missTwice(() => 3)).toBe(false);
    expect(await missTwice(() => 4)).toBe(true);
  });

  it('is suspect when they wait in a work queue that nobody consumes', async () => {
    const { state, missTwice } = setup();
    Object.assign(state, { ready: 3, consumers: 0 });
    expect(await missTwice(() => 3)).toBe(true);
  });

  it('is not suspect when they arrive while the broker is asked', async () => {
    const { state, missTwice } = setup();
    let count = 3;
    state.onAsked = () => void (count = 0);
    expect(await missTwice(() => count)).toBe(false);
  });

  it('counts what nothing explains, and nothing else', async () => {
    const { state, counted, miss } = setup();
    Object.assign(state, { unsent: 4, ready: 3 });
    await miss(() => 7);
    await miss(() => 9);
    await miss(() => 5, 'other');
    expect(counted).toEqual([
      ['k', 2],
      ['other', 2],
    ]);
  });
});

import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { type RabbitClient, TopologyNames } from '../../../src/rabbit';
import { type WakeUpRepublisher } from '../../../src/timeouts/message-path/wake-up-republisher';
import { PathRecovery } from '../../../src/timeouts/message-path/path-recovery';
import { dataSourceStub } from '../../support/data-source-stub';
import { ManualClock } from '../delay/manual-clock';

function setup() {
  /** `onAsked` runs while the broker is asked. */
  const state = { unsent: 0, ready: 0, consumers: 1, onAsked: (): void => undefined };
  const channel = Object.assign(new EventEmitter(), {
    checkQueue: async () => {
      state.onAsked();
      return { messageCount: state.ready, consumerCount: state.consumers };
    },
  });
  const connection = { createChannel: async () => channel, close: async () => undefined };
  const client = { names: new TopologyNames('p'), temporaryConnection: async () => connection };
  const dataSource = dataSourceStub({}, async () => [{ rows: state.unsent }]);
  const recovery = new PathRecovery(
    {
      client: client as unknown as RabbitClient,
      ...{ dataSource, schema: 'order_timeout' },
      switch: { restore: async () => ({ type: 'works' }) },
      republication: {} as WakeUpRepublisher,
    },
    new ManualClock(),
  );
  /** Two runs of the sweep that miss so many. */
  const miss = async (count: () => number): Promise<boolean> => {
    recovery.missed('k', count);
    recovery.missed('k', count);
    await recovery.examine();
    return recovery.isSuspect;
  };
  return { state, miss };
}

describe('a path whose wake-ups are missed', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('is suspect when nothing explains it', async () => {
    expect(await setup().miss(() => 3)).toBe(true);
  });

  it('is not suspect when as many are still in the outbox or in the work queue', async () => {
    const { state, miss } = setup();
    state.unsent = 2;
    state.ready = 1;
    expect(await miss(() => 3)).toBe(false);
    expect(await miss(() => 4)).toBe(true);
  });

  it('is suspect when they wait in a work queue that nobody consumes', async () => {
    const { state, miss } = setup();
    Object.assign(state, { ready: 3, consumers: 0 });
    expect(await miss(() => 3)).toBe(true);
  });

  it('is not suspect when they arrive while the broker is asked', async () => {
    const { state, miss } = setup();
    let count = 3;
    state.onAsked = () => void (count = 0);
    expect(await miss(() => count)).toBe(false);
  });
});

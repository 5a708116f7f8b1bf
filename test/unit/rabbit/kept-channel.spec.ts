import { Logger } from '@nestjs/common';
import { type Channel, type ChannelModel } from 'amqplib';
import { KeptChannel } from '../../../src/rabbit/kept-channel';
import { type RabbitConnection } from '../../../src/rabbit/rabbit-connection';
import { ManualClock } from '../../support/manual-clock';

const REFUSED = "ACCESS_REFUSED - configure access to exchange 'x' in vhost '/' refused for user 'app'";

/** Enough turns for all promises that can settle now. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

describe('a channel that cannot be opened', () => {
  let clock: ManualClock;
  let said: string[];
  let reason: string;
  let tries: number;

  beforeEach(async () => {
    clock = new ManualClock();
    said = [];
    reason = REFUSED;
    tries = 0;
    Logger.overrideLogger({
      log: () => undefined,
      warn: () => undefined,
      error: (message: unknown) => said.push(String(message)),
    });
    const model = {} as ChannelModel;
    const connection = {
      model,
      onConnect: (listener: (opened: ChannelModel) => void) => {
        listener(model);
        return () => undefined;
      },
    } as unknown as RabbitConnection;
    new KeptChannel<Channel>(connection, clock, {
      name: 'commands',
      create: () => {
        tries++;
        return Promise.reject(new Error(reason));
      },
      open: async () => undefined,
      closed: () => undefined,
    });
    await settled();
  });

  afterEach(() => {
    Logger.overrideLogger(false);
  });

  /** The pauses between the tries last at most this long. */
  async function passes(minutes: number): Promise<void> {
    for (let second = 0; second < minutes * 60; second += 5) {
      clock.advance(5_000);
      await settled();
    }
  }

  it('is logged once, however often it is retried, and again after an hour', async () => {
    await passes(59);
    expect(tries).toBeGreaterThan(500);
    expect(said).toEqual([`could not be opened, retrying: ${REFUSED}`]);
    await passes(2);
    expect(said).toHaveLength(2);
  });

  it('is logged with the setting of the broker that allows too few', async () => {
    reason = 'No channels left to allocate';
    await passes(1);
    expect(said[1]).toBe(`could not be opened, retrying: ${reason}; set channel_max of the broker to 32 or more`);
  });

  it('is logged again for another reason', async () => {
    reason = 'NOT_FOUND';
    await passes(1);
    expect(said).toEqual([expect.stringContaining(REFUSED), 'could not be opened, retrying: NOT_FOUND']);
  });
});

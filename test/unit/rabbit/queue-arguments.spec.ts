import { parkedQueueArguments, workQueueArguments, TopologyNames } from '../../../src/rabbit/topology';

const names = new TopologyNames('ot');

describe('a work queue', () => {
  it('dead-letters at least once to the parked queue, which needs reject-publish', () => {
    expect(workQueueArguments('quorum', names)).toEqual({
      'x-queue-type': 'quorum',
      'x-delivery-limit': 100,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
      'x-dead-letter-exchange': 'ot.parked',
    });
  });

  it('has only arguments that a classic queue supports, if it is one', () => {
    expect(workQueueArguments('classic', names)).toEqual({
      'x-queue-type': 'classic',
      'x-dead-letter-exchange': 'ot.parked',
    });
  });
});

describe('the parked queue', () => {
  it('has a limit that is never reached: no limit means 20 from RabbitMQ 4.0 on, and -1 means 0 up to 3.13', () => {
    expect(parkedQueueArguments('quorum')).toEqual({ 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000 });
    expect(parkedQueueArguments('classic')).toEqual({ 'x-queue-type': 'classic' });
  });
});

describe('the names on the broker', () => {
  it('all start with the prefix and are unique', () => {
    const { events, commands, parked, work, delayed, delay } = names;
    const all = [events, commands, parked, work, delayed, delay, names.workQueue('order.payment')];
    expect(new Set(all).size).toBe(all.length);
    expect(all.filter((name) => !name.startsWith('ot.'))).toEqual([]);
  });
});

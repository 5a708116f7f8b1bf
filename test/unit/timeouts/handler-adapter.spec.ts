import { type EntityManager } from 'typeorm';
import { HandlerAdapter } from '../../../src/timeouts/handlers/handler-adapter';
import {
  type DueTimeout,
  type TimeoutHandlerBatch,
  LOOK_UP,
  DONE,
  type TimeoutOutcome,
} from '../../../src/timeouts/model/timeout';
import { HandlerContractError } from '../../../src/timeouts/model/errors';

const tx = {} as EntityManager;
const { signal } = new AbortController();
const run = { isContended: false };

function due(key: string, more: Partial<DueTimeout> = {}): DueTimeout {
  const dueAt = new Date('2026-01-01T00:00:00Z');
  return { kind: 'k', key, generation: '1', dueAt, attempts: 0, payload: {}, cause: 'message', ...more };
}

const batch = (outcomes: readonly TimeoutOutcome[], lookUp?: TimeoutHandlerBatch['lookUp']) =>
  new HandlerAdapter('order.payment', { handleBatch: async () => [...outcomes], ...(lookUp && { lookUp }) });

describe('a batch handler', () => {
  it('gets the whole batch at once, in the transaction, and its outcomes are taken as they are', async () => {
    const outcomes: TimeoutOutcome[] = [DONE, { type: 'park', reason: 'no' }];
    const handleBatch = jest.fn(async () => outcomes);
    const timeouts = [due('a'), due('b')];
    await expect(new HandlerAdapter('k', { handleBatch }).handleBatch(timeouts, tx, run)).resolves.toEqual(outcomes);
    expect(handleBatch.mock.calls).toEqual([[timeouts, tx, run]]);
  });

  it('keeps its own this', async () => {
    class Handler {
      private readonly outcomes = [LOOK_UP];
      async handleBatch(): Promise<TimeoutOutcome[]> {
        return this.outcomes;
      }
      async lookUp(): Promise<unknown> {
        return this.outcomes.length;
      }
    }
    const adapter = new HandlerAdapter('k', new Handler());
    await expect(adapter.handleBatch([due('a')], tx, run)).resolves.toEqual([LOOK_UP]);
    await expect(adapter.lookUp(due('a'), signal)).resolves.toBe(1);
  });

  it.each([
    ['too few', [DONE], 'returned 1 outcomes for 2 timeouts'],
    ['too many', [DONE, DONE, DONE], 'returned 3 outcomes for 2 timeouts'],
    ['no', [], 'returned 0 outcomes for 2 timeouts'],
  ])('breaks its contract with %s outcomes', async (_, outcomes, problem) => {
    const settling = batch(outcomes).handleBatch([due('a'), due('b')], tx, run);
    await expect(settling).rejects.toThrow(HandlerContractError);
    await expect(settling).rejects.toThrow(`the handler of "order.payment" ${problem}`);
  });

  it('breaks its contract when it wants to ask but cannot', async () => {
    const settling = batch([DONE, LOOK_UP]).handleBatch([due('a'), due('b')], tx, run);
    await expect(settling).rejects.toThrow('returned "look-up" but has no lookUp() method');
    await expect(batch([]).lookUp(due('a'), signal)).rejects.toThrow('has no lookUp() method');
  });

  it.each([['facts'], [null], [false], [0]])(
    'breaks its contract when it asks again after the answer %j',
    async (answer) => {
      const adapter = batch([DONE, LOOK_UP], async () => answer);
      await expect(adapter.handleBatch([due('a', { answer }), due('b', { answer })], tx, run)).rejects.toThrow(
        'asked again',
      );
    },
  );

  it('breaks its contract when it asks again after the answer undefined, or it would ask forever', async () => {
    const adapter = batch([LOOK_UP], async () => undefined);
    await expect(adapter.handleBatch([due('a', { answer: undefined })], tx, run)).rejects.toThrow('asked again');
  });

  it('may ask about one timeout in the call in which it is answered about another', async () => {
    const adapter = batch([LOOK_UP, DONE], async () => 1);
    await expect(adapter.handleBatch([due('a'), due('b', { answer: 1 })], tx, run)).resolves.toEqual([LOOK_UP, DONE]);
  });

  it('gets its question with the signal that ends it', async () => {
    const lookUp = jest.fn(async () => 'facts');
    await expect(batch([], lookUp).lookUp(due('a'), signal)).resolves.toBe('facts');
    expect(lookUp.mock.calls).toEqual([[due('a'), signal]]);
  });
});

describe('a handler of single timeouts', () => {
  it('gets one after the other, in the transaction, and means done when it says nothing', async () => {
    const active: string[] = [];
    const handle = jest.fn(async ({ key }: DueTimeout): Promise<TimeoutOutcome | void> => {
      active.push(key);
      await Promise.resolve();
      expect(active).toEqual([key]);
      active.pop();
      if (key === 'b') return { type: 'park', reason: 'no' };
    });
    const timeouts = [due('a'), due('b'), due('c')];
    const settling = new HandlerAdapter('k', { handle }).handleBatch(timeouts, tx, run);
    await expect(settling).resolves.toEqual([DONE, { type: 'park', reason: 'no' }, DONE]);
    expect(handle.mock.calls).toEqual(timeouts.map((timeout) => [timeout, tx]));
  });

  it('cannot ask', async () => {
    const adapter = new HandlerAdapter('order.payment', { handle: async () => LOOK_UP });
    await expect(adapter.handleBatch([due('a')], tx, run)).rejects.toThrow(HandlerContractError);
    await expect(adapter.lookUp(due('a'), signal)).rejects.toThrow(HandlerContractError);
  });

  it('fails the batch with its own error', async () => {
    const adapter = new HandlerAdapter('k', { handle: () => Promise.reject(new Error('out of stock')) });
    await expect(adapter.handleBatch([due('a')], tx, run)).rejects.toThrow('out of stock');
  });
});

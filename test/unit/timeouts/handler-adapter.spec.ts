import { Logger } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { nameOwnSchema } from '../../../src/database';
import { HandlerAdapter } from '../../../src/timeouts/handlers/handler-adapter';
import {
  type DueTimeout,
  type TimeoutHandlerInstance,
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

const adapterOf = (handler: TimeoutHandlerInstance, kind = 'k', now = () => 0) =>
  new HandlerAdapter(kind, handler, now);

const batch = (outcomes: readonly TimeoutOutcome[], lookUp?: TimeoutHandlerBatch['lookUp']) =>
  adapterOf({ handleBatch: async () => [...outcomes], ...(lookUp && { lookUp }) }, 'order.payment');

describe('a batch handler', () => {
  it('gets the whole batch at once, in the transaction, and its outcomes are taken as they are', async () => {
    const outcomes: TimeoutOutcome[] = [DONE, { type: 'park', reason: 'no' }];
    const handleBatch = jest.fn(async () => outcomes);
    const timeouts = [due('a'), due('b')];
    await expect(adapterOf({ handleBatch }).handleBatch(timeouts, tx, run)).resolves.toEqual(outcomes);
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
    const adapter = adapterOf(new Handler());
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
    const settling = adapterOf({ handle }).handleBatch(timeouts, tx, run);
    await expect(settling).resolves.toEqual([DONE, { type: 'park', reason: 'no' }, DONE]);
    expect(handle.mock.calls).toEqual(timeouts.map((timeout) => [timeout, tx]));
  });

  it('cannot ask', async () => {
    const adapter = adapterOf({ handle: async () => LOOK_UP });
    await expect(adapter.handleBatch([due('a')], tx, run)).rejects.toThrow(HandlerContractError);
    await expect(adapter.lookUp(due('a'), signal)).rejects.toThrow(HandlerContractError);
  });

  it('fails the batch with its own error', async () => {
    const adapter = adapterOf({ handle: () => Promise.reject(new Error('out of stock')) });
    await expect(adapter.handleBatch([due('a')], tx, run)).rejects.toThrow('out of stock');
  });
});

describe('a handler whose table the database refuses', () => {
  const denied = Object.assign(new Error('permission denied for table inventory'), { code: '42501' });
  const refused = new QueryFailedError('UPDATE ours.inventory', [], denied);

  it('is said to begin to fail once, and to work again once, whatever others do that need no such table', async () => {
    nameOwnSchema('ours');
    const said: unknown[] = [];
    const warned = jest
      .spyOn(Logger.prototype, 'warn')
      .mockImplementation((message: unknown) => void said.push(message));
    const logged = jest
      .spyOn(Logger.prototype, 'log')
      .mockImplementation((message: unknown) => void said.push(message));
    let nowMs = 0;
    let isRefused = true;
    const handleBatch = async (timeouts: readonly DueTimeout[]): Promise<TimeoutOutcome[]> => {
      if (isRefused && timeouts.some(({ key }) => key === 'apple')) throw refused;
      return timeouts.map(() => DONE);
    };
    const adapter = adapterOf({ handleBatch }, 'order.payment', () => nowMs);
    const handle = (...keys: string[]) =>
      adapter.handleBatch(keys.map((key) => due(key)), tx, run).catch(() => undefined); // prettier-ignore
    await handle('none', 'apple');
    for (; nowMs < 20_000; nowMs += 4_000) await Promise.all([handle('none'), handle('apple')]);
    expect(said).toEqual(['begins to fail: permission denied for table inventory']);
    isRefused = false;
    await Promise.all([handle('none'), handle('apple'), handle('none')]);
    expect(said.slice(1)).toEqual(['works again']);
    warned.mockRestore();
    logged.mockRestore();
  });
});

import { dataSourceStub } from '../../support/data-source-stub';
import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { OutboxRelay } from '../../../src/outbox/outbox-relay';
import { type ClaimedRow } from '../../../src/outbox/outbox-claims';
import { type ConfirmedPublisher, type Publication, type PublishOutcome } from '../../../src/rabbit';
import { ManualClock } from '../../support/manual-clock';

const BATCH = 500;
const GATHER_MS = 20;

interface Published {
  readonly ids: readonly string[];
  answer(outcome: PublishOutcome): void;
}

const row = (id: string): ClaimedRow => ({
  id,
  lease: '2026-11-21 20:00:30.123456+00',
  route: 'event',
  routing_key: 'order.closed',
  body: '{}',
  traceparent: null,
  remaining_ms: null,
});
const toPublication = ({ id }: ClaimedRow): Publication => ({
  exchange: 'events',
  routingKey: 'k',
  body: Buffer.from('{}'),
  messageId: id,
  type: 'k',
});
/** Enough for what was promised by now to happen. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
};

describe('the relay behind a backlog', () => {
  let clock: ManualClock;
  let waiting: string[];
  let claims: number;
  let deleted: string[];
  let released: string[];
  let published: Published[];
  let deletion: Error | undefined;
  let relay: OutboxRelay;

  beforeEach(() => {
    Logger.overrideLogger(false);
    clock = new ManualClock();
    [waiting, deleted, released, published, claims, deletion] = [[], [], [], [], 0, undefined];
    const query = async (sql: string, values: unknown[] = []): Promise<unknown> => answer(sql, values);
    const dataSource = { ...dataSourceStub({ query }, query), subscribers: [] };
    const publisher = {
      isReady: true,
      longestMs: 20_000,
      publish: (publications: Iterable<Publication>) =>
        new Promise<PublishOutcome[]>((resolve) => {
          const ids = [...publications].map(({ messageId }) => messageId);
          published.push({ ids, answer: (outcome) => resolve(ids.map(() => outcome)) });
        }),
    };
    relay = new OutboxRelay(
      {
        dataSource: dataSource as unknown as DataSource,
        publisher: publisher as unknown as ConfirmedPublisher,
        schema: 's',
        route: 'event',
        router: () => toPublication,
      },
      clock,
    );
  });

  afterEach(async () => {
    const stopping = relay.stop();
    for (const each of published) each.answer('confirmed');
    await stopping;
  });

  function answer(sql: string, values: unknown[]): unknown {
    if (sql.includes('SKIP LOCKED')) {
      // The past is read in the same transaction, and holds nothing.
      if (values.at(-1) !== 'infinity') return [];
      claims += 1;
      const ids = waiting.splice(0, Number(values[0]));
      return ids.map((id) => ({ ...row(id), found: ids.length }));
    }
    if (sql.includes('DELETE')) {
      if (deletion) throw deletion;
      deleted.push(...(values[1] as string[]));
    } else if (sql.includes('UPDATE')) {
      released.push(...(values[1] as string[]));
    }
    return [];
  }

  const rows = (count: number): void => {
    waiting.push(...Array.from({ length: count }, (_, n) => `m${n}`));
  };
  /** So long, and then the time that commits have to come together. */
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settled();
    clock.advance(GATHER_MS);
    await settled();
  };
  const start = async (): Promise<void> => {
    relay.start();
    await pass(0);
  };

  it('claims further batches while one waits for its confirms, in order, and three at most', async () => {
    rows(4 * BATCH);
    await start();
    expect(published.map(({ ids }) => ids[0])).toEqual(['m0', 'm500', 'm1000']);
    expect(deleted).toEqual([]);
    published[1]?.answer('confirmed');
    await settled();
    expect(deleted[0]).toBe('m500');
    expect(published.map(({ ids }) => ids[0])).toEqual(['m0', 'm500', 'm1000', 'm1500']);
  });

  it('waits for a batch that was not full, so that commits meanwhile share the next one', async () => {
    rows(3);
    await start();
    rows(1);
    relay.wake();
    await settled();
    expect(claims).toBe(1);
    published[0]?.answer('confirmed');
    await settled();
    expect(published).toHaveLength(1);
    await pass(0);
    expect(published).toHaveLength(2);
  });

  it('lets commits come together for twenty milliseconds, but not behind a backlog', async () => {
    relay.start();
    clock.advance(GATHER_MS - 1);
    await settled();
    expect(claims).toBe(0);
    rows(2 * BATCH);
    clock.advance(1);
    await settled();
    expect(claims).toBe(3);
  });

  it('looks for more no more than every half second when there is none', async () => {
    await start();
    for (let poll = 1; poll < 5; poll++) {
      expect(claims).toBe(poll);
      await pass(500);
    }
  });

  it('pauses when the broker did not take all of a batch, and releases those rows', async () => {
    rows(4 * BATCH);
    await start();
    published[0]?.answer('nacked');
    await settled();
    expect(released).toHaveLength(BATCH);
    expect(claims).toBe(3);
    await pass(500);
    expect(claims).toBe(4);
  });

  it('pauses for a second when a batch could not be deleted, and then goes on', async () => {
    rows(4 * BATCH);
    await start();
    deletion = new Error('the database is unavailable');
    published[0]?.answer('confirmed');
    await settled();
    deletion = undefined;
    expect(claims).toBe(3);
    await pass(1_000);
    expect(claims).toBe(4);
  });

  it('has nothing in flight when it has stopped', async () => {
    rows(4 * BATCH);
    await start();
    let isStopped = false;
    const stopping = relay.stop().then(() => (isStopped = true));
    published[0]?.answer('confirmed');
    await settled();
    expect(isStopped).toBe(false);
    for (const each of published) each.answer('confirmed');
    await stopping;
    expect(deleted).toHaveLength(3 * BATCH);
  });

  it('says what is left of a delay when the message is sent, not when its row was claimed', async () => {
    const remaining: number[] = [];
    const tx = { query: async () => [{ ...row('a'), remaining_ms: 10_000 }] };
    const dataSource = { ...tx, ...dataSourceStub(tx) };
    const publisher = {
      isReady: true,
      longestMs: 20_000,
      publish: async (publications: Iterable<Publication>) => {
        clock.advance(3_000);
        return [...publications].map(() => 'confirmed' as const);
      },
    };
    const late = new OutboxRelay(
      {
        dataSource: dataSource as unknown as DataSource,
        publisher: publisher as unknown as ConfirmedPublisher,
        schema: 's',
        route: 'event',
        router: () => (each, remainingMs) => (remaining.push(remainingMs), toPublication(each)),
      },
      clock,
    );
    expect(await late.runOnce()).toBe(1);
    expect(remaining).toEqual([7_000]);
  });
});

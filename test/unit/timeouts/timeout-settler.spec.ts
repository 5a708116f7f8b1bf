import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { SystemClock } from '../../../src/clock';
import { type DueTimeout, type TimeoutOutcome } from '../../../src/timeouts';
import { type HandlerAdapter } from '../../../src/timeouts/handlers/handler-adapter';
import { type SettlementRun, type BatchSelection, type BusyRow } from '../../../src/timeouts/model/timeout';
import { type OutcomeRecorder, SettlementQueries, TimeoutSettler } from '../../../src/timeouts/engine/timeout-settler';
import { dataSourceStub } from '../../support/data-source-stub';

const KIND = 'some.kind';
const DONE: TimeoutOutcome = { type: 'done' };

const failed = (code: string): Error => new QueryFailedError('SELECT', [], Object.assign(new Error(code), { code }));
const DEADLOCK = failed('40P01');
const SERIALIZATION = failed('40001');
const LOCKED = failed('55P03');

function row(key: string, fields: Partial<BusyRow> = {}): BusyRow {
  const found = { key, generation: '1', due_at: new Date(0), attempts: 0, payload: {}, traceparent: null };
  return { ...found, remaining_ms: 0, busy: false, leased: false, ...fields };
}

/** One run of the handler: the error that it throws, or its outcomes. */
type Run = Error | readonly TimeoutOutcome[];

/** A settler whose handler does in each run what the script says. */
function setup(runs: readonly Run[], found: readonly BusyRow[] = []) {
  const handled: { readonly due: readonly DueTimeout[]; readonly run: SettlementRun }[] = [];
  const recorded: { readonly key: string; readonly outcome: object }[][] = [];
  const told: { readonly key: string; readonly type: string }[][] = [];
  const asked: unknown[][] = [];
  const commits: number[] = [];
  const handleBatch = async (due: readonly DueTimeout[], _tx: EntityManager, run: SettlementRun) => {
    handled.push({ due, run });
    const next = runs[handled.length - 1] ?? [];
    if (next instanceof Error) throw next;
    return next;
  };
  const record: OutcomeRecorder['record'] = async (_tx, rows) => {
    recorded.push(rows.map(({ due: { key }, outcome }) => ({ key, outcome })));
  };
  const query = async (...statement: unknown[]) => {
    asked.push(statement);
    return found;
  };
  const dataSource = dataSourceStub({ query, queryRunner: { connect: async () => new EventEmitter(), query } });
  const create = dataSource.createQueryRunner.bind(dataSource);
  dataSource.createQueryRunner = () => {
    const runner = create();
    runner.commitTransaction = async () => void commits.push(handled.length);
    return runner;
  };
  const queries = new SettlementQueries('s');
  const settler = new TimeoutSettler(
    {
      ...{ kind: KIND, isOwn: true, dataSource, queries, maxAttempts: 5 },
      recorder: { record } as OutcomeRecorder,
      handler: { handleBatch } as unknown as HandlerAdapter,
      observer: {
        settled: (_kind, batch) => told.push(batch.map(({ due, outcome }) => ({ key: due.key, type: outcome.type }))),
      },
      databaseClock: { nowMs: () => 0 },
      ...{ runTimeoutMs: 30_000, idleTimeoutMs: 31_000, statementTimeoutMs: 30_000 },
    },
    new SystemClock(),
  );
  return { settler, queries, handled, recorded, told, asked, commits };
}

function selecting(keys: readonly string[], answers?: ReadonlyMap<string, unknown>): BatchSelection {
  const lock = async () => ({ due: keys.map((key) => row(key)) });
  return { lock, causeOf: () => 'message', ...(answers && { answers }) };
}

describe('settling a batch of timeouts', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('records what the handler decided, commits, and then tells the observer', async () => {
    const { settler, recorded, told, commits } = setup([[DONE, { type: 'park', reason: 'ask a person' }]]);
    const { settled } = await settler.settle(selecting(['a', 'b']));
    expect(recorded).toEqual([
      [
        { key: 'a', outcome: { type: 'done' } },
        { key: 'b', outcome: { type: 'park', attempts: 0, reason: 'ask a person' } },
      ],
    ]);
    expect(settled.map(({ due: { key }, outcome }) => `${key} ${outcome.type}`)).toEqual(['a done', 'b park']);
    expect(told).toEqual([
      [
        { key: 'a', type: 'done' },
        { key: 'b', type: 'park' },
      ],
    ]);
    expect(commits).toEqual([1]);
  });

  it('hands over the answers of look-ups to those that have one', async () => {
    const { settler, handled } = setup([[DONE, DONE]]);
    await settler.settle(selecting(['asked', 'new'], new Map([['asked', 'yes']])));
    expect(handled[0]?.due.map((due) => ('answer' in due ? due.answer : 'none'))).toEqual(['yes', 'none']);
  });

  it('hands over since when a timeout is looked up, and the trace that scheduled it', async () => {
    const { settler, handled } = setup([[DONE, DONE]]);
    const asked_since = new Date(5);
    const rows = [row('asked', { asked_since, traceparent: '00-1-2-01' }), row('new', { asked_since: null })];
    await settler.settle({ lock: async () => ({ due: rows }), causeOf: () => 'message' });
    const [asked, fresh] = handled[0]?.due ?? [];
    expect(asked).toMatchObject({ askedSince: asked_since, traceparent: '00-1-2-01' });
    expect(fresh).not.toHaveProperty('askedSince');
    expect(fresh).not.toHaveProperty('traceparent');
  });

  it('does not call the handler if nothing is due', async () => {
    const { settler, handled, recorded } = setup([]);
    expect(await settler.settle(selecting([]))).toEqual({ settled: [], early: [], lease: '' });
    expect([handled, recorded]).toEqual([[], []]);
  });

  it('takes a missing outcome for an error, and deletes nothing', async () => {
    const { settler, recorded, told, commits } = setup([[]]);
    await expect(settler.settle(selecting(['k-1']))).rejects.toThrow('has given no outcome for "k-1"');
    expect([recorded, told, commits]).toEqual([[], [], []]);
  });

  it.each([
    ['a deadlock', DEADLOCK],
    ['a serialization failure', SERIALIZATION],
  ])('tries again at once after %s, a second and a third time', async (_, error) => {
    const { settler, handled, commits } = setup([error, error, [DONE]]);
    const { settled } = await settler.settle(selecting(['a']));
    expect(settled).toMatchObject([{ outcome: { type: 'done' } }]);
    expect([handled.length, commits]).toEqual([3, [3]]);
  });

  it('gives up after the third conflict, because more would hide a design fault', async () => {
    const { settler, handled, told } = setup([DEADLOCK, SERIALIZATION, DEADLOCK, [DONE]]);
    await expect(settler.settle(selecting(['a', 'b']))).rejects.toBe(DEADLOCK);
    expect([handled.length, told]).toEqual([3, []]);
  });

  it('tries a batch once more after a wait for a lock failed, and says so to the handler', async () => {
    const { settler, handled } = setup([LOCKED, [DONE, DONE]]);
    expect((await settler.settle(selecting(['a', 'b']))).settled).toHaveLength(2);
    expect(handled.map(({ run }) => run.isContended)).toEqual([false, true]);
  });

  it('gives a batch up after the second failed wait for a lock', async () => {
    const { settler, handled } = setup([LOCKED, LOCKED, [DONE, DONE]]);
    await expect(settler.settle(selecting(['a', 'b']))).rejects.toBe(LOCKED);
    expect(handled).toHaveLength(2);
  });

  it('does not try a single timeout again after a failed wait, because it needs that lock', async () => {
    const { settler, handled } = setup([LOCKED, [DONE]]);
    await expect(settler.settle(selecting(['a']))).rejects.toBe(LOCKED);
    expect(handled).toHaveLength(1);
  });

  it('tells the next batch from its beginning that a row is locked', async () => {
    const { settler, handled } = setup([LOCKED, [DONE]]);
    await expect(settler.settle(selecting(['a']))).rejects.toBe(LOCKED);
    await settler.settle(selecting(['b']));
    expect(handled.map(({ run }) => run.isContended)).toEqual([false, true]);
  });

  it('does not try again after any other error', async () => {
    const error = new Error('a mistake of the handler');
    const { settler, handled } = setup([error, [DONE]]);
    await expect(settler.settle(selecting(['a', 'b']))).rejects.toBe(error);
    expect(handled).toHaveLength(1);
  });
});

describe('recording that a timeout failed', () => {
  const identity = { key: 'a', generation: '7' };

  it('counts an attempt, and parks with the last one', async () => {
    const { settler, queries, recorded, asked } = setup([], [row('a', { attempts: 3 })]);
    await settler.fail(identity, 'sweep', { reason: 'it threw' });
    expect(recorded[0]).toMatchObject([{ key: 'a', outcome: { type: 'retry', attempts: 4, reason: 'it threw' } }]);
    expect(asked).toContainEqual([queries.lockByKeys, [KIND, ['a'], ['7']]]);

    const last = setup([], [row('a', { attempts: 4 })]);
    await last.settler.fail(identity, 'sweep', { reason: 'it threw' });
    expect(last.recorded[0]).toMatchObject([{ outcome: { type: 'park', attempts: 5, reason: 'it threw' } }]);
  });

  it('counts nothing if another session was in the way, and waits as long as is said', async () => {
    const { settler, recorded } = setup([], [row('a', { attempts: 4 })]);
    await settler.fail(identity, 'sweep', { reason: 'locked', counted: false, afterMs: ({ key }) => key.length * 70 });
    expect(recorded[0]).toEqual([{ key: 'a', outcome: { type: 'retry', attempts: 4, reason: 'locked', afterMs: 70 } }]);
  });

  it('of a look-up is recorded only while its lease holds', async () => {
    const { settler, queries, asked } = setup([], [row('a')]);
    await settler.fail(identity, 'sweep', { reason: 'it threw', lease: 'l-1' });
    expect(asked).toContainEqual([queries.lockLeased, [KIND, ['a'], ['7'], ['l-1']]]);
  });

  it('leaves a row alone that another transaction holds', async () => {
    const { settler, recorded } = setup([], [row('a', { busy: true })]);
    await settler.fail(identity, 'sweep', { reason: 'it threw' });
    expect(recorded).toEqual([]);
  });
});

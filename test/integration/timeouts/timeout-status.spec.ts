import {
  DONE,
  type DueTimeout,
  LOOK_UP,
  ParkedTimeouts,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  type TimeoutRef,
} from '../../../src/timeouts';
import {
  TIMEOUT_STATUSES,
  TIMEOUT_STEPS,
  type TimeoutAction,
  type TimeoutPresence,
  type TimeoutStatus,
} from '../../../src/timeouts/model/timeout';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';

const KIND = 'test.status';
const HOUR_MS = 3_600_000;
const LATER: TimeoutOutcome = { type: 'retry', afterMs: HOUR_MS, counted: false, reason: 'later' };

const OUTCOMES: Readonly<Record<TimeoutOutcome['type'], () => TimeoutOutcome>> = {
  done: () => DONE,
  'look-up': () => LOOK_UP,
  retry: () => LATER,
  reschedule: () => ({ type: 'reschedule', dueAt: new Date(Date.now() + HOUR_MS) }),
  park: () => ({ type: 'park', reason: 'no hope' }),
};

/** Says of each timeout what its key names. */
@TimeoutHandler(KIND)
class Scripted implements TimeoutHandlerBatch<string> {
  async handleBatch(due: readonly DueTimeout<string>[]): Promise<TimeoutOutcome[]> {
    return due.map(({ key }) => {
      const action = key.split(' ')[0] as TimeoutAction;
      return action in OUTCOMES ? OUTCOMES[action as TimeoutOutcome['type']]() : LATER;
    });
  }

  /** Ends with the engine, so the lease stays. */
  lookUp(_: DueTimeout, signal: AbortSignal): Promise<string> {
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('closed'))));
  }
}

interface Row {
  readonly status: TimeoutStatus;
  /** Of the transaction that wrote this version of the row. */
  readonly version: string;
}

const ACTIONS = Object.keys(TIMEOUT_STEPS) as TimeoutAction[];
const PRESENCES: readonly TimeoutPresence[] = ['absent', ...TIMEOUT_STATUSES];
const CASES = ACTIONS.flatMap((action) => PRESENCES.map((presence) => ({ action, presence })));
const refOf = (one: (typeof CASES)[number]): TimeoutRef => ({ kind: KIND, key: `${one.action} ${one.presence}` });
const refsOf = (isMeant: (action: TimeoutAction) => boolean): TimeoutRef[] =>
  CASES.filter(({ action }) => isMeant(action)).map(refOf);
const only = (wanted: TimeoutAction) => refsOf((action) => action === wanted);

describe('the table of what is done to a timeout', () => {
  let database: TestDatabase;
  let engine: TestEngine;
  let before: ReadonlyMap<string, Row>;
  let after: ReadonlyMap<string, Row>;

  const rows = async (): Promise<ReadonlyMap<string, Row>> => {
    const read = await database.dataSource.query<(Row & { key: string })[]>(
      `SELECT key, CASE WHEN lease IS NULL THEN state ELSE 'leased' END AS status, xmin::text AS version
         FROM order_timeout.timeout`,
    );
    return new Map(read.map(({ key, ...row }) => [key, row]));
  };

  /** A row in each status for each action. What its handler shall judge is due, also if it is leased. */
  const insertRows = async (): Promise<void> => {
    const cases = CASES.filter(({ presence }) => presence !== 'absent');
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, lease)
       SELECT $1, key, nextval('order_timeout.timeout_generation'), now(), now() + after_ms * interval '1 millisecond',
              CASE status WHEN 'parked' THEN 'parked' ELSE 'pending' END,
              CASE status WHEN 'leased' THEN gen_random_uuid() END
         FROM unnest($2::text[], $3::text[], $4::float8[]) AS r(key, status, after_ms)`,
      [
        KIND,
        cases.map((one) => refOf(one).key),
        cases.map(({ presence }) => presence),
        cases.map(({ action }) => (action in OUTCOMES ? 0 : HOUR_MS)),
      ],
    );
  };

  const actOnEveryRow = async (): Promise<void> => {
    const parked = engine.module.get(ParkedTimeouts);
    await database.dataSource.transaction(async (tx) => {
      await engine.scheduler.schedule(
        only('schedule').map((ref) => ({ ...ref, afterMs: HOUR_MS })),
        { tx },
      );
      await engine.scheduler.cancel(only('cancel'), { tx });
    });
    await parked.replay(only('replay'));
    await parked.discard(only('discard'));
    engine.scheduler.wake(refsOf((action) => action in OUTCOMES));
  };

  beforeAll(async () => {
    database = await createDatabase();
    // Nothing is swept while the test runs: the handler sees only what it is woken for.
    const options = { transport: 'none', sweep: { marginMs: HOUR_MS } } as const;
    engine = await startEngine(database, 'amqp://127.0.0.1:1', [new Scripted()], options);
    await insertRows();
    before = await rows();
    await actOnEveryRow();
    const due = refsOf((action) => action in OUTCOMES).filter(({ key }) => /(pending|leased)$/.test(key));
    await until(async () => {
      after = await rows();
      return due.every(({ key }) => after.get(key)?.version !== before.get(key)?.version);
    });
  });

  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  it.each(CASES)('is what the statements do: $action of what is $presence', ({ action, presence }) => {
    const { key } = refOf({ action, presence });
    const from: readonly TimeoutPresence[] = TIMEOUT_STEPS[action].from;
    const applies = from.includes(presence);
    expect(after.get(key)?.status ?? 'absent').toBe(applies ? TIMEOUT_STEPS[action].to : presence);
    expect(after.get(key)?.version !== before.get(key)?.version).toBe(applies);
  });
});

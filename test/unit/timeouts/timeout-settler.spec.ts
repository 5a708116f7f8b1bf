import { EventEmitter } from 'node:events';
import { SystemClock } from '../../../src/clock';
import { dataSourceStub } from '../../support/data-source-stub';
import { type HandlerAdapter } from '../../../src/timeouts/handlers/handler-adapter';
import { type LockedRow } from '../../../src/timeouts/settling/locked-timeout';
import { type OutcomeRecorder } from '../../../src/timeouts/settling/outcome-recorder';
import { SettlementQueries } from '../../../src/timeouts/settling/settlement-queries';
import { TimeoutSettler } from '../../../src/timeouts/settling/timeout-settler';

it('a timeout that the handler gave no outcome for is an error, and is not deleted', async () => {
  const recorded: unknown[] = [];
  const connect = async () => new EventEmitter();
  const plan = {
    kind: 'some.kind',
    dataSource: dataSourceStub({ queryRunner: { connect, query: async () => [] } }),
    queries: new SettlementQueries('s'),
    recorder: { record: async (_tx: unknown, rows: unknown) => recorded.push(rows) } as unknown as OutcomeRecorder,
    handler: { handleBatch: async () => [] } as unknown as HandlerAdapter,
    observer: { settled: () => undefined },
    databaseClock: { nowMs: () => 0 },
    maxAttempts: 5,
    runTimeoutMs: 30_000,
    idleTimeoutMs: 31_000,
    statementTimeoutMs: 30_000,
  };
  const settler = new TimeoutSettler(plan, new SystemClock());
  const row = { key: 'k-1', generation: '1', due_at: new Date(), attempts: 0, payload: {}, traceparent: null };
  const lock = async () => ({ due: [row as unknown as LockedRow] });
  await expect(settler.settle({ lock, causeOf: () => 'message' })).rejects.toThrow(
    'an outcome for timeout "k-1" is missing',
  );
  expect(recorded).toEqual([]);
});

import { ExternalLookups } from '../../../src/timeouts/engine/external-lookups';
import { type BatchSelection, type DueTimeout } from '../../../src/timeouts/model/timeout';
import { ManualClock } from '../../support/manual-clock';

const DUE = { kind: 'order.payment', key: 'o1', generation: '1', cause: 'message' } as DueTimeout;

const LEASE_MS = 20_000;

describe('a look-up', () => {
  it('that takes as long as it may keeps what its handler returns when the signal aborts', async () => {
    const { lookup, clock, settled } = world((signal) => onAbort(signal, () => Promise.resolve('one of two was paid')));
    void lookup();
    await clock.pass(LEASE_MS);
    expect(settled).toEqual(['answer: one of two was paid']);
  });

  it('counts as too late, whatever its handler throws when the signal aborts', async () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const { lookup, clock, settled } = world((signal) => onAbort(signal, () => Promise.reject(reset)));
    void lookup();
    await clock.pass(LEASE_MS);
    expect(settled).toEqual(['failure: lookUp() did not end within 18000 ms']);
  });

  it('fails if the handler does not obey its signal', async () => {
    const { lookup, clock, settled } = world(() => new Promise(() => undefined));
    void lookup();
    await clock.pass(LEASE_MS);
    expect(settled).toEqual(['failure: lookUp() did not end within 18000 ms']);
  });

  it.each([
    ['counts while the database answers', true, 'counted: connect ECONNREFUSED'],
    ['does not count while the database does not answer either', false, 'uncounted: connect ECONNREFUSED'],
  ])("that cannot reach its handler's server %s", async (_says, isDatabaseAvailable, expected) => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const { lookup, settled, failures } = world(() => Promise.reject(refused), isDatabaseAvailable);
    await lookup();
    expect(settled).toEqual(['failure: connect ECONNREFUSED']);
    expect(failures).toEqual([expected]);
  });

  it('is not waited for when the process stops', async () => {
    const { lookup, clock, settled, lookups } = world(() => new Promise(() => undefined));
    const ended = lookup();
    lookups.abort();
    await clock.pass(0);
    await expect(ended).resolves.toBe('unwritten');
    expect(settled).toEqual([]);
  });
});

function onAbort<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(work())));
}

/** Look-ups with this handler, on a clock that a test moves, and what is written of them. */
function world(lookUp: (signal: AbortSignal) => Promise<unknown>, isDatabaseAvailable = true) {
  const clock = new ManualClock();
  const settled: string[] = [];
  const failures: string[] = [];
  const settler = {
    settle: ({ answers }: BatchSelection) => {
      settled.push(
        ...[...(answers ?? new Map<string, unknown>()).values()].map((answer) => `answer: ${String(answer)}`),
      );
      return Promise.resolve({ settled: [], early: [], lease: '' });
    },
    isDatabaseAvailable: () => Promise.resolve(isDatabaseAvailable),
    fail: (_due: unknown, _cause: unknown, { reason, counted = true }: { reason: string; counted?: boolean }) => {
      settled.push(`failure: ${reason}`);
      failures.push(`${counted ? 'counted' : 'uncounted'}: ${reason}`);
      return Promise.resolve();
    },
  };
  const dependencies = {
    handler: { lookUp: (_due: DueTimeout, signal: AbortSignal) => lookUp(signal) },
    leaseMs: LEASE_MS,
    kind: DUE.kind,
    settler,
    queries: {},
    databaseClock: { nowMs: () => clock.now() },
    observer: { unavailable: () => undefined },
    batchSize: 10,
    concurrency: 1,
  };
  const lookups = new ExternalLookups(
    dependencies as unknown as ConstructorParameters<typeof ExternalLookups>[0],
    clock,
  );
  const lookup = (): Promise<string> => new Promise((resolve) => void lookups.lookUp(DUE, 'lease', resolve));
  return { clock, lookups, lookup, settled, failures };
}

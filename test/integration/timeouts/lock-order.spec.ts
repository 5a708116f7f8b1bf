import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const KIND = 'host.kind';
const ROUNDS = 15;
// Letters of both cases: JavaScript and PostgreSQL's collations sort them differently.
const keys = Array.from({ length: 60 }, (_, n) => `${n % 2 ? 'a' : 'B'}-${n}`);

/** A host's transactions over many timeouts must not end in a deadlock because each lists them in its own order. */
describe('bulk work on timeouts', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    engine = await startEngine(database, vhost.url, [], { transport: 'none', consume: false });
  });

  afterAll(async () => {
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  const schedule = (some: readonly string[]): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        some.map((key) => ({ kind: KIND, key, afterMs: 3_600_000 })),
        { tx },
      ),
    );
  const cancel = (some: readonly string[]): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.cancel(
        some.map((key) => ({ kind: KIND, key })),
        { tx },
      ),
    );
  const reversed = keys.toReversed();

  it.each([
    ['scheduled', () => [schedule(keys), schedule(reversed), schedule(keys), schedule(reversed)]],
    ['cancelled', () => [cancel(keys), cancel(reversed), cancel(keys), cancel(reversed)]],
    ['scheduled and cancelled', () => [schedule(keys), cancel(reversed), schedule(reversed), cancel(keys)]],
  ])('does not deadlock when the same ones are %s in opposite orders', async (_case, atOnce) => {
    for (let round = 0; round < ROUNDS; round++) {
      await schedule(keys);
      const results = await Promise.allSettled(atOnce());
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    }
  });
});

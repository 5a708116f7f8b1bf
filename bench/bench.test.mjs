// What the product is measured against (npm run suite -- bench).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tally } from './peers/tally.mjs';
import { isNewEnough } from './obtain-peers.mjs';

test('a Node below 22.18 gets a newer one beside it, as graphile-worker does not run on it', () => {
  const versions = ['20.20.2', '22.17.1', '22.18.0', '24.0.0'];
  assert.deepEqual(versions.filter(isNewEnough), ['22.18.0', '24.0.0']);
});

const taken = (/** @type {[index: number, startedAtMs: number][]} */ runs) => {
  const tally = new Tally(2);
  for (const [index, startedAtMs] of runs) tally.add({ index, dueAtMs: 1000 }, startedAtMs);
  return tally;
};

test('lateness is that of the job, whatever the order', async () => {
  const tally = taken([
    [1, 1009],
    [0, 1004],
  ]);
  await tally.all(1);
  assert.deepEqual(tally.result(), { p50Ms: 4, p99Ms: 9, maxMs: 9, repeated: 0 });
});

test('a job that runs again is told, with the lateness of the first time', () => {
  const tally = taken([
    [0, 1001],
    [1, 1001],
    [1, 1009],
  ]);
  assert.deepEqual(tally.result(), { p50Ms: 1, p99Ms: 1, maxMs: 1, repeated: 1 });
});

test('a job that runs a millisecond early fails the run', () => {
  const tally = taken([
    [0, 999],
    [1, 1001],
  ]);
  assert.throws(() => tally.result(), /1 jobs ran too early/);
});

test('a job that does not run fails the run', async () => {
  await assert.rejects(taken([[0, 1001]]).all(1), /1 jobs have not run/);
});

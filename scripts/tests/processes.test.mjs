// Real processes and files: what must hold when somebody is killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { contentStamp } from '../setup/content-stamp.mjs';
import { tryLock, withLock } from '../setup/lock.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { identify, isAlive } from '../setup/process-identity.mjs';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { together } from '../setup/together.mjs';
import { waitUntil } from '../setup/wait.mjs';
import { findFreeBlock, isBlockFree, reserveFreeBlock } from '../stack/ports.mjs';

const onWindows = process.platform === 'win32';
const folder = mkdtempSync(join(tmpdir(), 'setup-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A process that starts a sleeping child on a lifeline and prints its pid. */
const owner = (/** @type {'group' | 'process'} */ owns) => `
  import { spawnWithLifeline } from ${JSON.stringify(new URL('../setup/run.mjs', import.meta.url).href)};
  const child = spawnWithLifeline('sleep', ['60'], { owns: '${owns}', stdio: ['ignore', 'ignore', 'ignore'] });
  console.log(child.pid);
  setInterval(() => {}, 1000);
`;

for (const owns of /** @type {const} */ (['group', 'process'])) {
  test(`a child dies with its owner, even by SIGKILL (${owns})`, { skip: onWindows }, async () => {
    const parent = spawn(process.execPath, ['--input-type=module', '-e', owner(owns)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    /** @type {unknown[]} */
    const lines = await once(createInterface({ input: parent.stdout }), 'line');
    const child = identify(Number(lines[0]));
    assert.ok(isAlive(child));
    parent.kill('SIGKILL');
    assert.ok(await waitUntil(() => !isAlive(child), { everyMs: 20, limitMs: 5000 }), 'still alive after 5 s');
  });
}

test('a command over its time limit is ended, and its error says so', { skip: onWindows }, async () => {
  await assert.rejects(run('sleep', ['60'], { limitMs: 50 }), /took longer than 0.05 s/);
});

test('a failed command shows the end of its output', { skip: onWindows }, async () => {
  const failing = run('sh', ['-c', 'echo first; echo last; exit 3'], { limitMs: 5000 });
  await assert.rejects(
    failing,
    (error) => error instanceof SetupError && /code 3/.test(error.message) && error.logTail.at(-1) === 'last',
  );
});

test('a lock has one owner at a time, and that of a dead one is broken', async () => {
  const name = `test-${process.pid}`;
  const release = tryLock(name);
  assert.ok(release);
  assert.equal(tryLock(name), undefined);
  await assert.rejects(
    withLock(name, { limitMs: 10 }, async () => {}),
    { code: 'SETUP/LOCKED' },
  );
  release();
  const path = join(stackFolder('locks'), `${name}.lock`);
  writeFileSync(path, JSON.stringify({ pid: process.pid, startTime: 'of a process that had this pid before' }));
  assert.equal(await withLock(name, { limitMs: 10 }, async () => 'done'), 'done');
});

test('a reserved block of ports is not given away twice', async () => {
  const seed = `test-${process.pid}`;
  const first = await reserveFreeBlock(seed);
  assert.equal(await isBlockFree(first), false);
  assert.notEqual(await reserveFreeBlock(seed), first);
  assert.notEqual(await findFreeBlock(seed), first);
});

test('when one of several steps fails, the others are told and waited for', async () => {
  let wasTold = false;
  const waiting = (/** @type {AbortSignal} */ signal) =>
    waitUntil(() => false, { everyMs: 5, limitMs: 5000, signal }).finally(() => (wasTold = signal.aborted));
  const failing = async () => Promise.reject(new Error('no'));
  await assert.rejects(together(undefined, [waiting, failing]), /no/);
  assert.ok(wasTold);
});

test('the stamp follows names and contents, and nothing else', () => {
  writeFileSync(join(folder, 'a.txt'), 'one');
  const stamp = contentStamp(folder, ['a.txt', 'missing']);
  writeFileSync(join(folder, 'a.txt'), 'one');
  assert.equal(contentStamp(folder, ['a.txt', 'missing']), stamp);
  writeFileSync(join(folder, 'a.txt'), 'two');
  assert.notEqual(contentStamp(folder, ['a.txt', 'missing']), stamp);
});

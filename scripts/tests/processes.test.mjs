// Real processes and files: what must hold when somebody is killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { contentStamp } from '../setup/files.mjs';
import { tryLock, withLock } from '../setup/lock.mjs';
import { repository, stackFolder } from '../setup/paths.mjs';
import { identify, isAlive, run, together, waitUntil } from '../setup/processes.mjs';
import { SetupError } from '../setup/errors.mjs';
import { relocateErlang } from '../stack/rabbitmq.mjs';
import { findFreeBlock, isBlockFree, reserveFreeBlock } from '../stack/place.mjs';

const onWindows = process.platform === 'win32';
const folder = mkdtempSync(join(tmpdir(), 'setup-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A process that starts a sleeping child on a lifeline and prints its pid. */
const owner = (/** @type {'group' | 'process'} */ owns) => `
  import { spawnWithLifeline } from ${JSON.stringify(new URL('../setup/processes.mjs', import.meta.url).href)};
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
  /** @type {string[]} */
  const seen = [];
  /** @type {import('../setup/lock.mjs').WhileWaiting} */
  const whileWaiting = (wait, holder) => {
    seen.push(holder);
    return wait();
  };
  await assert.rejects(
    withLock(name, { limitMs: 10, whileWaiting }, async () => {}),
    { code: 'SETUP/LOCKED' },
  );
  assert.match(seen.join(), new RegExp(`^pid ${process.pid} \\(.+\\) in ${repository}$`));
  release();
  const path = join(stackFolder('locks'), `${name}.lock`);
  const abandoned = {
    'of a process that had this pid before': { pid: process.pid, startTime: 'earlier', clone: repository },
    'copied from another clone': { ...identify(process.pid), clone: '/elsewhere' },
  };
  for (const [which, owner] of Object.entries(abandoned)) {
    writeFileSync(path, JSON.stringify(owner));
    assert.equal(await withLock(name, { limitMs: 10 }, async () => 'done'), 'done', which);
  }
});

test('a copied clone does not touch the servers of the original', { skip: onWindows }, async () => {
  const copy = join(folder, 'copy');
  cpSync(join(repository, 'scripts'), join(copy, 'scripts'), { recursive: true });
  const original = spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
  const keeper = identify(original.pid ?? 0);
  const server = { ...keeper, status: 'ready', logFile: '', access: {}, ports: [] };
  mkdirSync(join(copy, '.stack', 'users'), { recursive: true });
  const state = { clone: repository, keeper, stopping: false, servers: { postgres: server } };
  writeFileSync(join(copy, '.stack', 'state.json'), JSON.stringify(state));
  const stack = (/** @type {string[]} */ ...args) =>
    run(process.execPath, [join(copy, 'scripts', 'stack.mjs'), ...args], {
      limitMs: 30_000,
      env: { ...process.env, OT_STACK: 'private' },
    });
  try {
    assert.match(await stack('status', '--json'), /"running": false/);
    await stack('down');
    assert.ok(isAlive(keeper), '"down" in the copy has stopped a server of the original');
  } finally {
    original.kill('SIGKILL');
  }
});

test('a moved clone keeps its data, a copied one does not', { skip: onWindows }, async () => {
  const [former, now] = [join(folder, 'former'), join(folder, 'now')];
  cpSync(join(repository, 'scripts'), join(now, 'scripts'), { recursive: true });
  const dataOf = (/** @type {string} */ clone) => join(clone, '.stack', 'home', 'data');
  const script = join(now, 'scripts', 'stack', 'private-stack.mjs');
  const claim = `import(${JSON.stringify(script)}).then(({ claimData }) => claimData(${JSON.stringify(dataOf(now))}))`;
  const keepsIt = async () => {
    for (const clone of [former, now]) mkdirSync(dataOf(clone), { recursive: true });
    writeFileSync(join(dataOf(now), 'clone.json'), JSON.stringify({ clone: former }));
    writeFileSync(join(dataOf(now), 'table'), '');
    await run(process.execPath, ['-e', claim], { limitMs: 30_000 });
    return existsSync(join(dataOf(now), 'table'));
  };
  assert.ok(await keepsIt(), 'another clone at its former place, whose servers never ran, was taken for the original');
  writeFileSync(join(dataOf(former), 'clone.json'), JSON.stringify({ clone: former }));
  assert.ok(!(await keepsIt()), 'data that were copied while their server may have written were kept');
});

test('the scripts of an unpacked Erlang find it from their own place', { skip: onWindows }, async () => {
  const root = join(folder, 'unpacked');
  const script = (/** @type {string} */ of) => `#!/bin/sh
if [ "" = "" ]
then ROOTDIR=${of}/usr/lib/erlang
else ROOTDIR="${of}/usr/lib/erlang"
fi
echo "$ROOTDIR"
`;
  const places = { 'bin/erl': '', 'erts-13.1/bin/erl': '/where/it/was/unpacked/once' };
  for (const [name, of] of Object.entries(places)) {
    const path = join(root, 'usr/lib/erlang', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, script(of), { mode: 0o755 });
  }
  relocateErlang(root);
  const moved = join(folder, 'moved');
  renameSync(root, moved);
  for (const name of Object.keys(places)) {
    const erlang = join(moved, 'usr/lib/erlang');
    const path = join(erlang, name);
    assert.equal((await run(path, [], { limitMs: 5000 })).trim(), erlang);
    assert.ok(!/\/usr\/lib\/erlang/.test(readFileSync(path, 'utf8')), `${name} still knows a place by heart`);
  }
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

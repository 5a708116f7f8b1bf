// Decisions of the broker matrix (npm run suite -- brokers).
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { bindToOwnLibraries, isOfSeries, mirrorIn, neededPackages } from './series.mjs';
import { renderMatrix, resultsByFolder } from './run-brokers.mjs';
import { repository } from '../../scripts/setup/paths.mjs';
import { erlangFolders } from '../../scripts/stack/rabbitmq.mjs';

test('a series is the first two numbers, and 4.30 is not of 4.3', () => {
  const series = { name: '4.3', suite: 'forky' };
  const versions = ['4.3', '4.3.6', '4.30.1', '4.2.3', '14.3.1'];
  assert.deepEqual(
    versions.filter((version) => isOfSeries(version, series)),
    ['4.3', '4.3.6'],
  );
});

test('Erlang, the broker and every library are fetched, the C library too, and no program of the system', () => {
  const all = ['libc6', 'adduser', 'erlang-base', 'zlib1g', 'python3', 'rabbitmq-server', 'rabbitmqadmin-ng', 'elixir'];
  assert.deepEqual(neededPackages(all), ['libc6', 'erlang-base', 'zlib1g', 'rabbitmq-server', 'elixir']);
});

test('the mirror is that of the own suite, not that of its security updates or of a stranger', () => {
  const rows = [
    'http://one.invalid/extras/|other|main',
    'http://one.invalid/debian-security/|bookworm-security|main',
    'http://one.invalid/debian/|bookworm|contrib',
    'http://two.invalid/debian/|bookworm|main',
  ];
  assert.equal(mirrorIn(rows.join('\n'), 'bookworm'), 'http://two.invalid/debian/');
  assert.equal(mirrorIn(rows.join('\n'), 'trixie'), undefined);
});

test('results are counted per folder, and a file that does not load has failed', () => {
  const file = (/** @type {string} */ name, /** @type {string} */ status, /** @type {string[]} */ ...tests) => ({
    name: join(repository, 'test', name),
    status,
    message: 'why',
    startTime: 1000,
    endTime: 3000,
    assertionResults: tests.map((each) => ({ status: each })),
  });
  const files = [
    file('integration/delay/a.spec.ts', 'passed', 'passed', 'pending'),
    file('integration/delay/b.spec.ts', 'failed', 'passed', 'failed'),
    file('integration/rabbit/c.spec.ts', 'failed'),
  ];
  const results = resultsByFolder(files);
  assert.deepEqual(results, [
    {
      suite: 'integration/delay',
      ...{ passed: 2, failed: 1, skipped: 1, ms: 4000, failures: ['test/integration/delay/b.spec.ts\nwhy'] },
    },
    {
      suite: 'integration/rabbit',
      ...{ passed: 0, failed: 1, skipped: 0, ms: 2000, failures: ['test/integration/rabbit/c.spec.ts\nwhy'] },
    },
  ]);
  const table = renderMatrix(results.map((result) => ({ broker: '4.0.5', ...result }))).split('\n');
  assert.equal(table.length, 3);
  assert.match(table[1] ?? '', /^4\.0\.5 {5}integration\/delay +2 +1 +1 +4\.0 s$/);
});

test('a program is started by the loader that came with it, a script and a library are left alone', () => {
  const unpacked = mkdtempSync(join(tmpdir(), 'brokers-'));
  try {
    const bin = join(unpacked, 'usr/lib/erlang/bin');
    for (const folder of [bin, join(unpacked, 'usr/lib64'), join(unpacked, 'usr/lib/x86_64-linux-gnu')]) {
      mkdirSync(folder, { recursive: true });
    }
    writeFileSync(join(unpacked, 'usr/lib64/ld-linux-x86-64.so.2'), '');
    for (const name of ['erlc', 'crypto.so']) writeFileSync(join(bin, name), '\x7fELF', 'latin1');
    writeFileSync(join(bin, 'erl'), '#!/bin/sh\n');
    for (const name of ['erl', 'erlc', 'crypto.so']) chmodSync(join(bin, name), 0o755);
    bindToOwnLibraries(unpacked, '/place');
    assert.equal(
      readFileSync(join(bin, 'erlc'), 'utf8'),
      '#!/bin/sh\nexec /place/usr/lib64/ld-linux-x86-64.so.2 --library-path /place/usr/lib/x86_64-linux-gnu ' +
        '--argv0 "$0" /place/usr/lib/erlang/bin/erlc.elf "$@"\n',
    );
    assert.equal(readFileSync(join(bin, 'erl'), 'utf8'), '#!/bin/sh\n');
    assert.equal(readFileSync(join(bin, 'crypto.so'), 'latin1'), '\x7fELF');
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
});

test('Erlang is the system’s, else that of PATH; for a RabbitMQ that is given it is that of PATH first', () => {
  const path = ['/given/bin', '', '/usr/bin'].join(delimiter);
  const system = '/usr/lib/erlang/bin';
  assert.deepEqual(erlangFolders('/', { isGiven: false, path }), [system, '/given/bin', '/usr/bin']);
  assert.deepEqual(erlangFolders('/', { isGiven: true, path }), ['/given/bin', '/usr/bin', system]);
  assert.deepEqual(erlangFolders('/unpacked', { isGiven: false, path }), ['/unpacked/usr/lib/erlang/bin']);
});

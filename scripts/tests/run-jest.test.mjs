import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { closingLines, runAllTests } from '../setup/run-jest.mjs';
import { repository } from '../setup/paths.mjs';

/** A test that passes, and one that fails until it has run `times` times. */
const failing = (/** @type {string} */ marks, /** @type {number} */ times) => `
  const { readdirSync, writeFileSync } = require('node:fs');
  void it('is quick', () => undefined);
  void it('is patient', () => {
    writeFileSync(${JSON.stringify(marks)} + '/' + process.hrtime.bigint(), '');
    expect(readdirSync(${JSON.stringify(marks)}).length).toBeGreaterThan(${times});
  });`;

/** @param {string} folder @param {number} index @param {number} times @returns {string} where it leaves a mark of each run */
function writeFile(folder, index, times) {
  const marks = mkdtempSync(join(tmpdir(), 'ot-run-jest-marks-'));
  writeFileSync(join(folder, `${index}.test.js`), failing(marks, times));
  return marks;
}

/** Like this repository for Jest, and empty. */
function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'ot-run-jest-'));
  const reporter = join(repository, 'test', 'support', 'closing-line-reporter.js');
  writeFileSync(join(folder, 'jest.config.json'), JSON.stringify({ rootDir: folder, reporters: [reporter] }));
  return folder;
}

void describe('npm test', () => {
  /** @type {string} */
  let folder;
  /** @type {string[]} */
  let marks;
  /** @type {string[]} */
  let printed;

  beforeEach(() => {
    printed = [];
    folder = makeFolder();
    marks = [];
  });
  afterEach(() => {
    for (const one of [folder, ...marks]) rmSync(one, { recursive: true });
  });

  /** Runs a file of tests for each of these numbers, which fails that often. */
  const runFiles = (/** @type {number[]} */ ...failures) => {
    marks.push(...failures.map((times, index) => writeFile(folder, index, times)));
    const args = ['--config', join(folder, 'jest.config.json')];
    return runAllTests({ env: {}, args, print: (line) => void printed.push(line) });
  };
  const runsOf = () => marks.map((mark) => readdirSync(mark).length);

  const closing = () => printed.filter((line) => line !== '' && !line.startsWith('::'));

  void it('runs a file that failed once again, alone, and names it below the counts of both runs', async () => {
    assert.equal(await runFiles(0, 1), 0);
    assert.deepEqual(runsOf(), [1, 2]);
    const [counts, flaky, ...others] = closing();
    assert.equal(counts, '4 passed, 0 failed');
    assert.match(flaky ?? '', /^flaky: 1 file failed beside the others and passed alone: \S+1\.test\.js$/);
    assert.deepEqual(others, []);
  });

  void it('fails if a file fails twice, and counts what passed in both runs', async () => {
    assert.equal(await runFiles(0, 1, 2), 1);
    assert.deepEqual(runsOf(), [1, 2, 2]);
    assert.equal(closing()[0], '5 passed, 1 failed');
    assert.match(closing()[1] ?? '', /^flaky: 1 file .+1\.test\.js$/);
  });

  void it('fails if a test is skipped and OT_NO_SKIPS is set', async () => {
    writeFileSync(
      join(folder, 'skipped.test.js'),
      "it.skip('needs a tool', () => undefined); it('does not', () => {});",
    );
    const args = ['--config', join(folder, 'jest.config.json')];
    assert.equal(await runAllTests({ env: {}, args }), 0);
    assert.equal(await runAllTests({ env: { OT_NO_SKIPS: '1' }, args }), 1);
  });

  void it('runs every file, but none again, if more than two fail', async () => {
    assert.equal(await runFiles(1, 1, 1, 0), 1);
    assert.deepEqual(runsOf(), [1, 1, 1, 1]);
    assert.deepEqual(printed, []);
  });
});

void describe('the closing lines of npm test', () => {
  const first = {
    passed: 4840,
    failed: 3,
    skipped: 2,
    files: [
      { file: 'a.spec.ts', passed: 8 },
      { file: 'b.spec.ts', passed: 0 },
    ],
  };
  const second = { passed: 21, failed: 0, skipped: 0, files: [] };

  void it('count a file that could not even be loaded by the tests that it has', () => {
    assert.equal(closingLines(first, second, {})[1], '4853 passed, 0 failed, 2 skipped');
  });

  for (const name of ['CI', 'GITHUB_ACTIONS'])
    void it(`warn of what is flaky if ${name} is set`, () => {
      const [, , line, warning] = closingLines(first, second, { [name]: 'true' });
      assert.equal(line, 'flaky: 2 files failed beside the others and passed alone: a.spec.ts, b.spec.ts');
      assert.equal(warning, `::warning::${line}`);
    });

  void it('do not speak of flaky files if none passed the second time', () => {
    assert.deepEqual(closingLines(first, { ...first, passed: 8 }, { CI: 'true' }), [
      '',
      '4840 passed, 3 failed, 2 skipped',
    ]);
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { runAllTests } from '../jest/run-jest.mjs';
import { repository } from '../setup/paths.mjs';

/** A test that fails until it has run `times` times. */
const failing = (/** @type {string} */ marks, /** @type {number} */ times) => `
  const { readdirSync, writeFileSync } = require('node:fs');
  void it('is patient', () => {
    writeFileSync(${JSON.stringify(marks)} + '/' + process.hrtime.bigint(), '');
    expect(readdirSync(${JSON.stringify(marks)}).length).toBeGreaterThan(${times});
  });`;

void describe('npm test', () => {
  /** @type {string} */
  let folder;
  /** @type {string[]} */
  let marks;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ot-run-jest-'));
    marks = [];
    const reporter = join(repository, 'test', 'support', 'closing-line-reporter.js');
    writeFileSync(join(folder, 'jest.config.json'), JSON.stringify({ rootDir: folder, reporters: [reporter] }));
  });
  afterEach(() => {
    for (const one of [folder, ...marks]) rmSync(one, { recursive: true });
  });

  /** Runs a file of tests for each of these numbers, which fails that often. */
  const runFiles = (/** @type {number[]} */ ...failures) => {
    for (const [index, times] of failures.entries()) {
      const mark = mkdtempSync(join(tmpdir(), 'ot-run-jest-marks-'));
      marks.push(mark);
      writeFileSync(join(folder, `${index}.test.js`), failing(mark, times));
    }
    return runAllTests({ env: {}, args: ['--config', join(folder, 'jest.config.json')] });
  };
  const runsOf = () => marks.map((mark) => readdirSync(mark).length);

  void it('runs a file that failed once again, alone', async () => {
    assert.equal(await runFiles(0, 1), 0);
    assert.deepEqual(runsOf(), [1, 2]);
  });

  void it('fails if a file fails twice', async () => {
    assert.equal(await runFiles(0, 2), 1);
    assert.deepEqual(runsOf(), [1, 2]);
  });

  void it('fails at once if more than two files fail', async () => {
    assert.equal(await runFiles(1, 1, 1), 1);
    assert.deepEqual(runsOf(), [1, 1, 1]);
  });
});

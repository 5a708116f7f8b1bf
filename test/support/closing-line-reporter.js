const { writeFileSync } = require('node:fs');

/**
 * Ends a run with `N passed, N failed` alone on a line, the form that CI systems read. Writes the counts and the files that
 * failed to the file that the variable OT_JEST_SUMMARY names. If OT_NO_SKIPS is set, a skipped test fails the run: nothing may
 * be left out because a tool is missing.
 */
module.exports = class ClosingLineReporter {
  /** @type {string[]} */
  #skipped = [];

  /**
   * @param {unknown} _contexts
   * @param {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, numTodoTests: number,
   *   numRuntimeErrorTestSuites: number, testResults: { testFilePath: string, numPassingTests: number,
   *   numFailingTests: number, testExecError?: unknown, testResults: { status: string, fullName: string }[] }[] }} results
   */
  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(`\n${results.numPassedTests} passed, ${failed} failed${tail}\n`);
    const bad = results.testResults.filter(
      ({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError,
    );
    const files = bad.map(({ testFilePath, numPassingTests }) => ({ file: testFilePath, passed: numPassingTests }));
    const summary = { passed: results.numPassedTests, failed, skipped, files };
    if (process.env.OT_JEST_SUMMARY) writeFileSync(process.env.OT_JEST_SUMMARY, JSON.stringify(summary));
    const tests = results.testResults.flatMap((file) => file.testResults);
    this.#skipped = tests
      .filter(({ status }) => status === 'pending' || status === 'todo')
      .map(({ fullName }) => fullName);
  }

  /** Jest fails a run whose reporter has an error. */
  getLastError() {
    if (!process.env.OT_NO_SKIPS || this.#skipped.length === 0) return undefined;
    const list = this.#skipped.map((name) => `  ${name}`).join('\n');
    process.stderr.write(`\nOT_NO_SKIPS is set, and these tests were skipped:\n${list}\n`);
    return new Error(`${this.#skipped.length} tests were skipped`);
  }
};

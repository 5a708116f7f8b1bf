export default {
  mutate: ['src/orders/{model,close,lookup,pay,unmatched}/*.ts', 'src/timeouts/engine/*.ts'],
  testRunner: 'jest',
  jest: { configFile: 'test/unit/mutation/jest.config.js' },
  coverageAnalysis: 'perTest',
  // What is computed once, when a file is loaded, would need every test for each mutant.
  ignoreStatic: true,
  // Sentences for people: a test that repeats them word by word proves nothing.
  mutator: { excludedMutations: ['StringLiteral'] },
  // The tests are compiled without type checks.
  disableTypeChecks: false,
  concurrency: 1,
  // Twice as much as a run may take, and this: a busy machine is no endless loop.
  timeoutFactor: 2,
  timeoutMS: 20_000,
  tempDirName: '.stack/mutation',
  ignorePatterns: ['.stack', 'dist', 'packages/*/dist', 'docs', 'test/hosts/prisma/generated'],
  reporters: ['clear-text', 'json', 'html'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: '.stack/mutation-report/report.json' },
  htmlReporter: { fileName: '.stack/mutation-report/report.html' },
  allowConsoleColors: false,
};

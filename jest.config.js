// NestJS 12 is published as ES modules only. Node >= 20.19 can require() them; jest can only from
// Node 24.9, so the @nestjs packages are compiled to CommonJS for the tests (cached after the first run).
const swc = [
  '@swc/jest',
  {
    swcrc: false,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
    },
  },
];
const base = {
  testEnvironment: 'node',
  transform: { '^.+\\.[cm]?[jt]s$': swc },
  transformIgnorePatterns: ['/node_modules/(?!(?:@nestjs|@seriousme|load-esm|file-type)/)'],
  // From the sources, so that a test sees what was changed without a build.
  moduleNameMapper: {
    '^nestjs-order-timeout$': '<rootDir>/src',
    '^nestjs-order-timeout/(orders|payments|rabbit|timeouts|transactions)$': '<rootDir>/src/public/$1',
    '^nestjs-order-timeout/testing$': '<rootDir>/src/testing',
    '^nestjs-order-timeout-payment-simulator$': '<rootDir>/packages/payment-simulator/src',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/packages/[^/]+/dist', '<rootDir>/.stack'],
};
const project = (/** @type {string} */ displayName, extra = {}) => ({
  ...base,
  displayName,
  testMatch: [`<rootDir>/test/${displayName}/**/*.spec.ts`],
  ...extra,
});
const onServers = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/leak-guard.ts'],
};
module.exports = /** @satisfies {import('jest').Config} */ ({
  collectCoverageFrom: ['{src,packages/*/src}/**/*.ts', '!{src,packages/*/src}/main.ts'],
  coverageProvider: 'v8',
  // Ends a test that hangs. What a test waits for has limits of its own, which a busy machine stretches.
  testTimeout: 180_000,
  // Most of the time is spent waiting for deadlines and servers, so four workers share two cores.
  maxWorkers: 4,
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.js'],
  projects: [
    project('unit'),
    project('model'),
    project('architecture'),
    project('integration', onServers),
    project('e2e', onServers),
  ],
});

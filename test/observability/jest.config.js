// npm run test:observability. Apart from npm test, because it needs Prometheus.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  testTimeout: 120_000,
  projects: [
    {
      ...onServers,
      rootDir,
      displayName: 'observability',
      testMatch: ['<rootDir>/test/observability/**/*.spec.ts', '<rootDir>/test/unit/observability/**/*.spec.ts'],
    },
  ],
};

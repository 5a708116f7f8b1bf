// npm run test:operator. Apart from npm test, as it needs Chromium.
const path = require('node:path');
const base = require('../../jest.config.js');

const [unit] = base.projects;
const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  testTimeout: 120_000,
  projects: [
    {
      ...unit,
      rootDir,
      displayName: 'operator-page',
      testMatch: ['<rootDir>/test/operator/page/**/*.spec.ts'],
      transformIgnorePatterns: ['/node_modules/(?!(?:@nestjs|@seriousme|load-esm|file-type|pixelmatch)/)'],
    },
    {
      ...onServers,
      rootDir,
      displayName: 'operator-service',
      testMatch: ['<rootDir>/test/operator/service/**/*.spec.ts'],
    },
  ],
};

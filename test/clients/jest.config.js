// npm run test:clients. Apart from npm test, because it needs generators that are larger than the product.
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
      displayName: 'clients',
      testMatch: ['<rootDir>/test/clients/**/*.spec.ts', '<rootDir>/test/e2e/example-clients.spec.ts'],
    },
  ],
};

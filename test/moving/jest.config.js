// npm run test:moving. Apart from npm test, because it needs Redis and packages of other tools.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'integration');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  projects: [
    {
      ...onServers,
      rootDir,
      displayName: 'moving',
      testMatch: [
        '<rootDir>/test/moving/*.spec.ts',
        '<rootDir>/test/integration/moving/*.spec.ts',
        '<rootDir>/test/unit/moving/*.spec.ts',
      ],
    },
  ],
};

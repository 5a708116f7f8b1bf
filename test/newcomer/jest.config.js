// npm run test:newcomer. The whole README.md, with what takes too long for npm test: NestJS 11, and restarts.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  verbose: true,
  projects: [
    {
      ...onServers,
      rootDir,
      displayName: 'newcomer',
      testMatch: ['<rootDir>/test/newcomer/*.spec.ts', '<rootDir>/test/e2e/newcomer/service.spec.ts'],
    },
  ],
};

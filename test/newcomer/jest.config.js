// npm run test:newcomer. What npm test runs of README.md, and NestJS 11, whose installation takes too long for it.
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
      testMatch: ['<rootDir>/test/newcomer/*.spec.ts', '<rootDir>/test/e2e/newcomer/*.spec.ts'],
    },
  ],
};

// npm run test:newcomer: every path of README.md to a first closed order, and the watched demo.
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
      testMatch: ['<rootDir>/test/newcomer/*.spec.ts'],
    },
  ],
};

// npm run test:security. Apart from npm test, as some 11 000 hostile inputs take minutes.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir: path.join(__dirname, '../..'),
  testTimeout: 120_000,
  projects: [
    {
      ...onServers,
      rootDir: path.join(__dirname, '../..'),
      displayName: 'security',
      testMatch: ['<rootDir>/test/security/**/*.spec.ts', '<rootDir>/test/soak/**/*.spec.ts'],
    },
  ],
};

// On a cluster that the specs start themselves, by npm run suite -- brokers: too long and too heavy for npm test.
const path = require('node:path');
const root = require('../../jest.config.js');

const rootDir = path.join(__dirname, '..', '..');
const integration = root.projects.find(({ displayName }) => displayName === 'integration');

/** @type {import('jest').Config} */
module.exports = {
  rootDir,
  // A cluster of its own fills the machine.
  maxWorkers: 1,
  testTimeout: root.testTimeout,
  projects: [{ ...integration, rootDir, displayName: 'brokers', testMatch: ['<rootDir>/test/brokers/**/*.spec.ts'] }],
};

// npm run test:scale. Apart from npm test, as a million orders take half a minute to write.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  testTimeout: 300_000,
  projects: [{ ...onServers, rootDir, displayName: 'scale', testMatch: ['<rootDir>/test/scale/**/*.spec.ts'] }],
};

// npm run test:outages. Apart from npm test, as most of it is waiting: for a broker that restarts, or a loss that shows.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  projects: [{ ...onServers, rootDir, displayName: 'outage', testMatch: ['<rootDir>/test/outage/**/*.spec.ts'] }],
};

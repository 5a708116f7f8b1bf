// npm run test:outages. Apart from npm test: most of it is waiting, and how late an order is says something only on a
// machine that does nothing else. So its files run one after the other.
const path = require('node:path');
const base = require('../../jest.config.js');

const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');
const rootDir = path.join(__dirname, '../..');
const project = (/** @type {string} */ displayName) => ({
  ...onServers,
  rootDir,
  displayName,
  testMatch: [`<rootDir>/test/${displayName}/**/*.spec.ts`],
});

/** @type {import('jest').Config} */
module.exports = { ...base, rootDir, maxWorkers: 1, projects: [project('fault'), project('outage')] };

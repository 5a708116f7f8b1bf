// npm run test:orms. Apart from npm test, as the libraries have 340 MB.
const path = require('node:path');
const base = require('../../jest.config.js');

const rootDir = path.join(__dirname, '../..');
const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  projects: [{ ...onServers, rootDir, displayName: 'orms', testMatch: ['<rootDir>/test/orms/**/*.spec.ts'] }],
};

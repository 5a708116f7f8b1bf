// npm run test:compose, which gives it a Docker engine. Apart from npm test, as it builds images.
const path = require('node:path');
const base = require('../../jest.config.js');

const [unit] = base.projects.filter(({ displayName }) => displayName === 'unit');
const rootDir = path.join(__dirname, '../..');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  // One set of containers, under one name.
  maxWorkers: 1,
  testTimeout: 10 * 60_000,
  projects: [{ ...unit, rootDir, displayName: 'compose', testMatch: ['<rootDir>/test/compose/**/*.spec.ts'] }],
};

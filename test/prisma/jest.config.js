// npm run test:prisma. Apart from npm test, because Prisma takes 300 MB.
const path = require('node:path');
const base = require('../../jest.config.js');

const rootDir = path.join(__dirname, '../..');
const [onServers] = base.projects.filter(({ displayName }) => displayName === 'e2e');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  rootDir,
  projects: [{ ...onServers, rootDir, displayName: 'prisma', testMatch: ['<rootDir>/test/prisma/**/*.spec.ts'] }],
};

const path = require('node:path');
const base = require('../../jest.config.js');

const rootDir = path.join(__dirname, '../..');

/**
 * A project of a suite of its own.
 *
 * @param {'unit' | 'integration' | 'e2e'} model the project of npm test that it is like
 * @param {string} displayName
 * @param {readonly string[]} testMatch below the repository
 */
const projectLike = (model, displayName, testMatch) => ({
  ...base.projects.find((project) => project.displayName === model),
  rootDir,
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
});

/**
 * The configuration of tests that a command of their own runs, apart from npm test.
 *
 * @param {NonNullable<import('jest').Config['projects']>} projects
 * @param {import('jest').Config} [options]
 * @returns {import('jest').Config}
 */
const suiteApart = (projects, options) => ({ ...base, rootDir, ...options, projects });

module.exports = { projectLike, suiteApart };

// For Stryker, which takes one project only, and loads every spec again for every change.
const { projectLike } = require('../../support/suite-apart.js');

const wholeSource = 'check-new-order|silent-listeners|pool-gaps|timeouts-options|transport-switch';

module.exports = {
  ...projectLike('unit', 'mutation', ['test/unit/{orders,timeouts}/*.spec.ts']),
  setupFiles: ['<rootDir>/test/unit/mutation/without-shrinking.js'],
  // They load all of src, and none of them is about a decision.
  testPathIgnorePatterns: [`/(${wholeSource})\\.spec\\.ts$`],
};

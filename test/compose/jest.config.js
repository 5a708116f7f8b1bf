// npm run suite -- compose, which gives it a Docker engine. Apart from npm test, as it builds images.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

module.exports = suiteApart([projectLike('unit', 'compose', ['test/compose/**/*.spec.ts'])], {
  // One set of containers, under one name.
  maxWorkers: 1,
  testTimeout: 10 * 60_000,
});

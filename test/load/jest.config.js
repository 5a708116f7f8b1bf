// npm run suite -- scale. Apart from npm test, as a million orders take half a minute to write.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

module.exports = suiteApart([projectLike('e2e', 'scale', ['test/load/**/*.spec.ts'])], { testTimeout: 300_000 });

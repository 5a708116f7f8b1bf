// npm run suite -- moving. Apart from npm test, because it needs Redis and packages of other tools.
const { projectLike, suiteApart } = require('../../support/suite-apart.js');

const tests = ['test/hosts/moving/*.spec.ts', 'test/integration/moving/*.spec.ts', 'test/unit/moving/*.spec.ts'];

module.exports = suiteApart([projectLike('integration', 'moving', tests)]);

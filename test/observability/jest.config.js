// npm run suite -- observability. Apart from npm test, because it needs Prometheus.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

const tests = ['test/observability/**/*.spec.ts', 'test/unit/observability/**/*.spec.ts'];

module.exports = suiteApart([projectLike('e2e', 'observability', tests)]);

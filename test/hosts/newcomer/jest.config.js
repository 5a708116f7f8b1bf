// npm run suite -- newcomer: every path of README.md to a first closed order, and the watched demo.
const { projectLike, suiteApart } = require('../../support/suite-apart.js');

module.exports = suiteApart([projectLike('e2e', 'newcomer', ['test/hosts/newcomer/*.spec.ts'])], { verbose: true });

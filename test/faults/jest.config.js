// npm run suite -- outages. Apart from npm test: most of it is waiting, and how late an order is says something only on a
// machine that does nothing else. So its files run one after the other.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

module.exports = suiteApart([projectLike('e2e', 'faults', ['test/faults/*.spec.ts'])], { maxWorkers: 1 });

// npm run suite -- outages. Apart from npm test: most of it is waiting, and how late an order is says something only on a
// machine that does nothing else. So its files run one after the other.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

const projects = ['fault', 'outage'].map((name) => projectLike('e2e', name, [`test/${name}/**/*.spec.ts`]));

module.exports = suiteApart(projects, { maxWorkers: 1 });

// npm run suite -- clients. Apart from npm test, because it needs generators that are larger than the product.
const { projectLike, suiteApart } = require('../../support/suite-apart.js');

const tests = ['test/hosts/clients/**/*.spec.ts', 'test/e2e/example-clients.spec.ts'];

module.exports = suiteApart([projectLike('e2e', 'clients', tests)]);

// npm run suite -- prisma. Apart from npm test, because Prisma takes 300 MB.
const { projectLike, suiteApart } = require('../../support/suite-apart.js');

module.exports = suiteApart([projectLike('e2e', 'prisma', ['test/hosts/prisma/**/*.spec.ts'])]);

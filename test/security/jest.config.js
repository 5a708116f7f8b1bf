// npm run suite -- security. Apart from npm test, as some 11 000 hostile inputs take minutes.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

module.exports = suiteApart([projectLike('e2e', 'security', ['test/security/**/*.spec.ts'])]);

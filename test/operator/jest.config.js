// npm run suite -- operator. Apart from npm test, as it needs Chromium.
const { projectLike, suiteApart } = require('../support/suite-apart.js');

const page = {
  ...projectLike('unit', 'operator-page', ['test/operator/page/**/*.spec.ts']),
  transformIgnorePatterns: ['/node_modules/(?!(?:@nestjs|@seriousme|load-esm|file-type|pixelmatch)/)'],
};
const service = projectLike('e2e', 'operator-service', ['test/operator/service/**/*.spec.ts']);

module.exports = suiteApart([page, service]);

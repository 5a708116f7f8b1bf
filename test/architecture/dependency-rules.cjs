// Who may know whom (docs/architecture.md, "Modules"). Every rule says what goes wrong without it.
const rooms = {
  clock: [],
  errors: [],
  database: [],
  rabbit: [],
  delay: ['rabbit'],
  outbox: ['rabbit'],
  timeouts: ['delay', 'rabbit', 'outbox'],
  inventory: [],
  payments: [],
  orders: ['timeouts', 'outbox', 'payments', 'inventory'],
  webhooks: ['timeouts', 'orders'],
  operations: ['rabbit', 'delay', 'outbox', 'timeouts', 'inventory', 'payments', 'orders'],
  api: ['rabbit', 'outbox', 'timeouts', 'inventory', 'payments', 'orders', 'operations'],
  module: [
    ...['rabbit', 'delay', 'outbox', 'timeouts', 'inventory', 'payments', 'orders', 'operations', 'api', 'webhooks'],
  ],
  service: ['rabbit', 'delay', 'timeouts', 'payments', 'orders', 'operations', 'api', 'module', 'webhooks'],
  cli: ['rabbit', 'delay', 'outbox', 'timeouts', 'payments', 'orders', 'operations', 'api', 'module', 'service'],
  public: ['rabbit', 'outbox', 'timeouts', 'payments', 'orders'],
  testing: ['outbox', 'timeouts', 'payments', 'orders', 'module'],
};
/** The ground floor, which every room stands on. */
const free = ['clock', 'errors', 'tracing', 'database'];

const roomRules = Object.entries(rooms).map(([room, may]) => ({
  name: `${room}-knows-only-what-it-may`,
  comment: `${room} may use ${[...may, ...free].join(', ')}; an arrow the other way would make the rooms one`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/', pathNot: `^src/(${[room, ...may, ...free].join('|')})/` },
}));

/**
 * @param {string} name
 * @param {string} packages
 * @param {string} where
 * @param {string} reason
 * @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const onlyIn = (name, packages, where, reason) => ({
  name,
  comment: reason,
  severity: 'error',
  from: { path: '^src/', pathNot: where },
  to: { path: `node_modules/(${packages})/` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...roomRules,
    {
      name: 'no-circular',
      comment: 'two files that need each other are one thing, and load in an order that nobody chose',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'folders-of-a-room-one-way',
      comment: 'model, sql, use cases: a reader goes down, and never has to come back up',
      scope: 'folder',
      severity: 'error',
      from: { path: '^src/(orders|timeouts)/' },
      to: { circular: true },
    },
    {
      name: 'rooms-by-their-index',
      comment: "what a room's index does not export may change without asking anybody",
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: {
        path: '^src/([^/]+)/.+',
        pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$', '^src/((api|payments)/[^/]+|orders/input)/index\\.ts$'],
      },
    },
    onlyIn(
      'amqp-in-rabbit',
      'amqplib|amqp-connection-manager',
      '^src/rabbit/',
      'the traps of the clients are handled once',
    ),
    onlyIn(
      'sdk-in-its-adapter',
      'alipay-sdk|stripe|wechatpay-axios-plugin',
      '^src/payments/(alipay|stripe|wechat-pay)/',
      'an SDK is optional, and its quirks stay in its adapter',
    ),
    onlyIn(
      'prometheus-in-operations',
      'prom-client|pino',
      '^src/operations/',
      'the engine reports to observers and knows no monitoring',
    ),
    onlyIn('opentelemetry-in-tracing', '@opentelemetry', '^src/tracing/', 'one place decides what spans show'),
    onlyIn(
      'terminal-in-cli',
      'commander|cli-progress',
      '^src/cli/',
      'a use case returns a result, and knows nothing of how a person sees it',
    ),
    onlyIn(
      'breaker-in-resilience',
      'cockatiel',
      '^src/payments/resilience/',
      'one place decides how hard a provider may be asked',
    ),
    {
      name: 'nothing-lies-loose',
      comment: 'a reader must see from the folder what a file is for',
      severity: 'error',
      from: { path: '^src/[^/]+\\.ts$', pathNot: '^src/(index|main)\\.ts$' },
      to: {},
    },
    {
      name: 'public-is-for-hosts',
      comment: 'a room takes what it needs from the room that has it',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/public/' },
      to: { path: '^src/public/' },
    },
    {
      name: 'no-test-kit-in-production',
      comment: 'a service that handles money must not load conformance suites',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/testing/' },
      to: { path: '^src/testing/' },
    },
    {
      name: 'product-without-simulator',
      comment: 'it is not installed with the product, and a service that handles money must not load it',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^packages/|nestjs-order-timeout-payment-simulator' },
    },
    {
      name: 'simulator-stands-alone',
      comment: 'code that both sides of a protocol use hides its own mistakes from the tests',
      severity: 'error',
      from: { path: '^packages/payment-simulator/' },
      to: { pathNot: '^packages/payment-simulator/|node_modules/zod/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'page-stands-alone',
      comment: 'it runs in a browser, and every package in it is sent to every operator',
      severity: 'error',
      from: { path: '^packages/operator-page/src/' },
      to: { pathNot: '^packages/operator-page/src/|node_modules/(preact|uplot)/' },
    },
    {
      name: 'product-without-page-source',
      comment: 'the product serves what was built, and knows nothing of how',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: 'nestjs-order-timeout-operator-page' },
    },
    {
      name: 'no-dev-dependency-in-production',
      comment: 'it would be missing in the image and in every host',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm-peer', 'type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^packages/[^/]+/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};

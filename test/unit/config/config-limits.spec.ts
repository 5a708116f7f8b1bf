import { DataSource } from 'typeorm';
import { loadConfig, type ServiceConfig } from '../../../src/service/config';
import { InvalidOptionsError } from '../../../src/errors';
import { LIMITS } from '../../../src/orders';
import { resolveOrderTimeoutOptions } from '../../../src/module/order-timeout-options';

const minimal = {
  DATABASE_URL: 'postgresql://u@db/shop',
  RABBITMQ_URLS: 'amqp://mq',
  API_KEYS: `shop:${'a'.repeat(64)}:*`,
};
const dataSource = new DataSource({ type: 'postgres' });
const DAY_MS = 86_400_000;

function isTaken(make: () => unknown): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if (error instanceof InvalidOptionsError) return false;
    throw error;
  }
}

/** What AppModule makes of the environment. */
function resolve(config: ServiceConfig): unknown {
  const { http, rateLimits, database, rabbit, transport, ladder, horizonMs, sweep, orders } = config;
  const { shutdownTimeoutMs } = config;
  const engine = { dataSource, schema: database.schema, rabbit, transport, ladder, horizonMs, sweep };
  return resolveOrderTimeoutOptions(
    { ...engine, orders, apiKeys: http.apiKeys, rateLimits, shutdownTimeoutMs },
    { http: true },
  );
}

const numbers = (name: string, min: number, max: number): [string, string[], string[]] => [
  name,
  [String(min), String(max)],
  [String(min - 1), String(max + 1)],
];

describe('the limits of environment variables', () => {
  it.each<[string, string[], string[]]>([
    [
      'DATABASE_SCHEMA',
      ['order_timeout', 'a', 'a'.repeat(63)],
      ['select', 'user', 'pg_own', 'A', '1a', 'a'.repeat(64), 'a"b'],
    ],
    ['RABBITMQ_PREFIX', ['a', 'a'.repeat(100)], ['.a', 'a'.repeat(101), 'a b']],
    ['HTTP_PAYMENT_PROVIDER_NAME', ['a', 'a'.repeat(64), 'constructor'], ['a b', 'a'.repeat(65), 'ä']],
    numbers('LADDER_BASE', 2, 100),
    numbers('LADDER_UNIT_MS', 1, DAY_MS),
    numbers('HORIZON_MS', 1_000, 30 * DAY_MS),
    numbers('SWEEP_INTERVAL_MS', 100, DAY_MS),
    numbers('SWEEP_MARGIN_MS', 0, DAY_MS),
    numbers('SHUTDOWN_TIMEOUT_MS', 0, 600_000),
    numbers('RATE_LIMIT_PER_SECOND', 0, 1_000_000),
    numbers('RATE_LIMIT_FAILURES_PER_SECOND', 0, 1_000_000),
    numbers('RATE_LIMIT_FORGERIES_PER_SECOND', 0, 1_000_000),
    numbers('GRACE_MS', 0, LIMITS.graceMs),
    numbers('REMINDER_OFFSETS_MS', 0, LIMITS.windowMs),
    numbers('LATE_WATCH_OFFSETS_MS', 0, LIMITS.windowMs),
    ['MERCHANT_POLICIES', [`{"${'m'.repeat(64)}":{}}`], [`{"${'m'.repeat(65)}":{}}`, '{"a b":{}}', '{"m":{"graceMsByProvider":{"a b":1}}}']], // prettier-ignore
  ])('%s has the limits of the engine', (name, taken, refused) => {
    for (const value of taken) {
      const load = () => loadConfig({ ...minimal, [name]: value });
      expect([value, isTaken(load), isTaken(() => resolve(load()))]).toEqual([value, true, true]);
    }
    for (const value of refused)
      expect([value, isTaken(() => loadConfig({ ...minimal, [name]: value }))]).toEqual([value, false]);
  });
});

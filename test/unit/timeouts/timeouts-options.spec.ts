import { type DataSource } from 'typeorm';
import { InvalidOptionsError } from '../../../src/errors';
import { resolveTimeoutsOptions, type TimeoutsOptions } from '../../../src/timeouts/model/timeouts-options';

const dataSource = { options: { type: 'postgres' } } as DataSource;
const least: TimeoutsOptions = { dataSource, rabbit: { urls: ['amqp://broker'] } };
const DAY_MS = 86_400_000;

/** Options as somebody may give them who does not use TypeScript, or takes them from elsewhere. */
const problemsOf = (options: object): readonly string[] => {
  try {
    resolveTimeoutsOptions({ ...least, ...options });
    return [];
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
};

describe('the options of TimeoutsModule', () => {
  it('have defaults for all but the servers', () => {
    expect(resolveTimeoutsOptions(least)).toMatchObject({
      dataSource,
      rabbit: { urls: ['amqp://broker'], prefix: 'order-timeout.v1', queueType: 'quorum', publishWindow: 500 },
      schema: 'order_timeout',
      transport: 'auto',
      ladder: {},
      horizonMs: DAY_MS,
      sweep: { intervalMs: 2_000, marginMs: 3_000, budgetMs: 20_000 },
      consume: true,
      shutdownTimeoutMs: 10_000,
    });
  });

  it('are taken over where they are given, part by part', () => {
    const sweep = { marginMs: 0 };
    const rabbit = { urls: ['amqps://a', 'amqp://b'], prefix: 'shop.v2' };
    expect(resolveTimeoutsOptions({ ...least, sweep, rabbit, schema: 'shop', consume: false })).toMatchObject({
      sweep: { intervalMs: 2_000, marginMs: 0 },
      rabbit: { prefix: 'shop.v2', queueType: 'quorum' },
      schema: 'shop',
      consume: false,
    });
  });

  it.each([undefined, 'auto', 'none'] as const)('leave timeouts in PostgreSQL without a broker (%s)', (transport) => {
    const { hasBroker, rabbit, ...others } = resolveTimeoutsOptions({ dataSource, ...(transport && { transport }) });
    expect({ hasBroker, urls: rabbit.urls, transport: others.transport }).toEqual({
      hasBroker: false,
      urls: [],
      transport: 'none',
    });
  });

  it('cannot be changed once they are checked', () => {
    expect(Object.isFrozen(resolveTimeoutsOptions(least))).toBe(true);
  });

  it.each<[string, object, string]>([
    ['no data source', { dataSource: undefined }, 'dataSource'],
    ['another database', { dataSource: { options: { type: 'mysql' } } }, '"postgres"'],
    ['a ladder without a broker', { rabbit: undefined, transport: 'ladder' }, 'transport "ladder" needs a broker'],
    ['the plugin without a broker', { rabbit: undefined, transport: 'delayed-exchange' }, 'needs a broker'],
    ['no URL', { rabbit: { urls: [] } }, 'rabbit.urls'],
    ['another protocol', { rabbit: { urls: ['amqp://a', 'http://b'] } }, 'rabbit.urls.1 must be'],
    ['a prefix with a wildcard', { rabbit: { urls: ['amqp://a'], prefix: 'a.#' } }, 'rabbit.prefix'],
    ['an empty prefix', { rabbit: { urls: ['amqp://a'], prefix: '' } }, 'rabbit.prefix'],
    ['a reply prefix that every queue has', { rabbit: { urls: ['amqp://a'], replyPrefixes: [''] } }, 'replyPrefixes'],
    ['an unknown queue type', { rabbit: { urls: ['amqp://a'], queueType: 'stream' } }, 'rabbit.queueType'],
    ['SQL for a schema', { schema: 'public; DROP' }, 'schema'],
    ['a schema in capitals', { schema: 'Shop' }, 'schema'],
    ['a schema name PostgreSQL would cut', { schema: 's'.repeat(64) }, 'schema'],
    ['an unknown transport', { transport: 'pigeon' }, 'transport must be one of auto, delayed-exchange, ladder, none'],
    ['a ladder of one value', { ladder: { base: 1 } }, 'ladder.base'],
    ['a ladder without a unit', { ladder: { unitMs: 0 } }, 'ladder.unitMs'],
    ['a horizon below a second', { horizonMs: 999, ladder: { unitMs: 100 } }, 'horizonMs'],
    ['a horizon above thirty days', { horizonMs: 30 * DAY_MS + 1 }, 'horizonMs'],
    ['a sweep in a tight loop', { sweep: { intervalMs: 99 } }, 'sweep.intervalMs'],
    ['a negative margin', { sweep: { marginMs: -1 } }, 'sweep.marginMs'],
    ['a sweep without a budget', { sweep: { budgetMs: 0 } }, 'sweep.budgetMs'],
    ['a fraction', { sweep: { budgetMs: 100.5 } }, '(got 100.5)'],
    ['a text for a number', { shutdownTimeoutMs: '10s' }, 'shutdownTimeoutMs'],
    ['an endless shutdown', { shutdownTimeoutMs: Infinity }, 'shutdownTimeoutMs'],
  ])('are refused with %s', (_, options, problem) => {
    const problems = problemsOf(options);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  it('are refused with every problem at once', () => {
    const problems = problemsOf({
      dataSource: undefined,
      rabbit: { urls: ['http://user:secret@host'], prefix: '', queueType: 'stream' },
      schema: '',
      transport: 'pigeon',
      ladder: { base: 1 },
      horizonMs: NaN,
      sweep: { intervalMs: 0, marginMs: -1, budgetMs: 0 },
      shutdownTimeoutMs: -1,
    });
    const names = ['base', 'horizonMs', 'dataSource', 'urls', 'prefix', 'queueType', 'schema', 'transport'];
    for (const name of [...names, 'intervalMs', 'marginMs', 'budgetMs', 'shutdownTimeoutMs']) {
      expect(problems).toContainEqual(expect.stringContaining(name));
    }
    // URLs carry passwords, problems go to logs.
    expect(problems.join()).not.toContain('secret');
  });

  it('take undefined for not given, as hosts without exactOptionalPropertyTypes write it', () => {
    const unset = { schema: undefined, consume: undefined, sweep: { marginMs: undefined } };
    const rabbit = { urls: ['amqp://broker'], prefix: undefined, confirmTimeoutMs: undefined };
    const options = { ...least, ...unset, rabbit } as unknown as TimeoutsOptions;
    expect(resolveTimeoutsOptions(options)).toEqual(resolveTimeoutsOptions(least));
  });

  it.each([{ publishWindow: 0 }, { confirmTimeoutMs: 0 }, { heartbeatSeconds: -1 }])('are refused with %j', (one) => {
    expect(problemsOf({ rabbit: { urls: ['amqp://a'], ...one } })).toHaveLength(1);
  });
});

import { appendFileSync } from 'node:fs';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { TopologyNames } from '../../src/rabbit';
import { brokerDefinitions } from '../../packages/contract/src/broker-definitions';
import { createEffectTable, keys, summarize, WriteEffects } from '../faults/effects';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';
import { BrokerCluster } from './broker-cluster';

jest.setTimeout(240_000);

const TIMEOUTS = 1_000;
/** The first is due when all of them wait on the broker, the last when the killed node has been gone for long. */
const [FIRST_DUE_MS, LAST_DUE_MS] = [6_000, 26_000];
const BACK_AFTER_MS = 12_000;
/** The sweep takes what is 5 s overdue, every 30 s; an election of leaders takes seconds. */
const LATE_MS = 36_000;

describe('a cluster of three nodes with quorum queues', () => {
  let cluster: BrokerCluster;
  let database: TestDatabase;
  let engine: TestEngine | undefined;

  beforeAll(async () => {
    cluster = await BrokerCluster.open(process.env.BROKER_SERIES ?? '3.10');
  });

  // Publishing again is asked for once within 10 minutes of a database: a case must not use up the turn of the next.
  beforeEach(async () => {
    database = await createDatabase();
    await createEffectTable(database);
  });

  afterEach(async () => {
    await engine?.close();
    await database?.drop();
  });

  afterAll(() => cluster?.close());

  /** The names of the nodes, the one first that the service is to connect to. */
  const namesFrom = (first: string): string[] => [
    first,
    ...cluster.nodes.map(({ name }) => name).filter((name) => name !== first),
  ];
  const nodeNamed = (name: string): BrokerCluster['nodes'][number] => {
    const found = cluster.nodes.find((node) => node.name === name);
    if (!found) throw new Error(`no node ${name}`);
    return found;
  };

  /** By default with the ladder that the service has: 147 rungs. */
  const start = async (prefix: string, firstNode: string, ladder: { base?: number } = {}): Promise<TestEngine> => {
    const urls = namesFrom(firstNode).map((name) => nodeNamed(name).url);
    engine = await startEngine(database, urls[0] ?? '', [new WriteEffects()], {
      rabbit: { urls, queueType: 'quorum', prefix },
      ladder,
      horizonMs: 86_400_000,
    });
    const running = engine;
    await until(() => running.engine.isMessagePathUp, 120_000);
    return running;
  };

  const schedule = (running: TestEngine, prefix: string): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      running.scheduler.schedule(
        keys(prefix, TIMEOUTS).map((key, index) => ({
          kind: 'fault.effect',
          key,
          afterMs: Math.round(FIRST_DUE_MS + ((LAST_DUE_MS - FIRST_DUE_MS) * index) / TIMEOUTS),
        })),
        { tx },
      ),
    );

  /** How many delay queues each node leads. */
  const leaders = async (prefix: string, askNode: string): Promise<Map<string, number>> => {
    const { managementUrl } = nodeNamed(askNode);
    const queues = await ask<{ name: string; leader: string }[]>(
      'GET',
      `${managementUrl}/api/queues?columns=name,leader`,
    );
    const counts = new Map<string, number>();
    for (const { name, leader } of queues) {
      const node = cluster.nodes.find((each) => each.node === leader);
      if (name.startsWith(`${prefix}.delay`) && node) counts.set(node.name, (counts.get(node.name) ?? 0) + 1);
    }
    return counts;
  };
  const mostLeadingIn = (counts: Map<string, number>): string =>
    [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? '';

  it('shares the lead of the delay queues between its nodes where the policy that we ship is set', async () => {
    const prefix = 'balanced';
    const [policy] = brokerDefinitions(new TopologyNames(prefix)).policies;
    await ask('PUT', `${nodeNamed('a').managementUrl}/api/policies/%2F/${prefix}`, policy);
    await start(prefix, 'a', { base: 8 });
    const counts = await leaders(prefix, 'a');
    report(`${prefix}: delay queues led by each node ${JSON.stringify([...counts.values()])}`);
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(37);
    expect(Math.min(...namesFrom('a').map((name) => counts.get(name) ?? 0))).toBeGreaterThan(8);
  });

  it.each([
    { title: 'the service is connected to', prefix: 'same-node', createdOn: 'a', connectedTo: 'a' },
    { title: 'the service is not connected to', prefix: 'other-node', createdOn: 'b', connectedTo: 'c' },
  ])('loses the node that leads the delay queues, which $title: every effect once', async (given) => {
    const { prefix, createdOn, connectedTo } = given;
    let running = await start(prefix, createdOn);
    if (connectedTo !== createdOn) {
      await running.close();
      running = await start(prefix, connectedTo);
    }
    await schedule(running, `${prefix}-`);
    const before = await leaders(prefix, connectedTo);
    const leader = mostLeadingIn(before);
    expect([...before.values()].reduce((sum, count) => sum + count, 0)).toBe(147);
    expect(leader).toBe(createdOn);
    const done = async (): Promise<number> => (await summarize(database, `${prefix}-`)).keys;
    await until(async () => (await done()) > 200, 60_000);
    await cluster.killNode(leader);
    const handledAtKill = await done();
    const killedAt = performance.now();
    await until(() => performance.now() - killedAt > BACK_AFTER_MS, 60_000);
    await cluster.startNode(leader);
    await until(async () => (await done()) === TIMEOUTS, 120_000);

    const { latestMs, ...summary } = await summarize(database, `${prefix}-`);
    const figures = {
      killed: `${leader}, which led ${before.get(leader)} of 147 delay queues`,
      handledAtKill,
      ...summary,
      ...(await lateness(database, `${prefix}-`)),
    };
    report(`${prefix}: ${JSON.stringify(figures)}`);
    // In mid-expiry, or nothing was shown.
    expect(handledAtKill).toBeLessThan(TIMEOUTS / 2);
    expect(summary).toEqual({ effects: TIMEOUTS, keys: TIMEOUTS, early: 0 });
    expect(latestMs).toBeLessThan(LATE_MS);
    await until(() => running.engine.isMessagePathUp, 60_000);
  });
});

/** For the table of npm run suite -- brokers. */
function report(figures: string): void {
  const path = process.env.BROKER_FIGURES_FILE;
  if (path) appendFileSync(path, `${figures}\n`);
  else process.stderr.write(`${figures}\n`);
}

async function lateness({ dataSource }: TestDatabase, prefix: string): Promise<Record<string, unknown>> {
  const [row] = await dataSource.query<Record<string, unknown>[]>(
    `SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY late_ms)) AS "p50Ms",
            round(percentile_cont(0.99) WITHIN GROUP (ORDER BY late_ms)) AS "p99Ms",
            round(max(late_ms)) AS "maxMs",
            count(*) FILTER (WHERE cause = 'message')::int AS "byMessage",
            count(*) FILTER (WHERE cause <> 'message')::int AS "otherwise"
       FROM effect WHERE key LIKE $1 || '%'`,
    [prefix],
  );
  return row ?? {};
}

/** Without a keep-alive agent, and so without fetch: an idle socket is a leak to the leak guard. */
function ask<T>(method: 'GET' | 'PUT', url: string, body?: unknown): Promise<T> {
  const { username, password, origin, pathname, search } = new URL(url);
  const options = { method, auth: `${username}:${password}`, agent: false } as const;
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}${pathname}${search}`, options, (response) => {
      text(response).then((answer) => resolve((answer ? JSON.parse(answer) : undefined) as T), reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

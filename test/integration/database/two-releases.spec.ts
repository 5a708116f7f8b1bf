import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import request from 'supertest';
import { type DataSource } from 'typeorm';
import { environmentOf, anOrder, KEYS } from '../../e2e/running-service';
import { connectTo, onServer, urlOf } from '../../support/database';
import { until } from '../../support/engine';
import { hasHistory, type PreviousRelease, unpackPreviousRelease } from '../../support/previous-release';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process';

const ERROR = 50;
const WINDOW_MS = 2_000;
const ORDERS = 10;

interface Line {
  readonly level: number;
  readonly msg: string;
}

interface Instance {
  readonly url: string;
  errors(): Line[];
  stop(): Promise<void>;
}

// Without the history there is no release before, and the counts of the run tell that this was left out.
(hasHistory() ? describe : describe.skip)('two neighbouring releases', () => {
  const database = `ot_releases_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  let previous: PreviousRelease;
  let vhost: TestVhost;
  let dataSource: DataSource;
  const running: ServiceProcess[] = [];

  beforeAll(async () => {
    [previous, vhost] = await Promise.all([unpackPreviousRelease(), createVhost()]);
    await onServer(`CREATE DATABASE ${database}`);
    dataSource = await connectTo(urlOf(database), 2);
  });

  afterAll(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(running.map(({ exited }) => exited));
    await dataSource.destroy();
    await onServer(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await Promise.all([vhost.drop(), previous.remove()]);
  });

  /** Resolves when it takes requests. */
  async function start(folder?: string): Promise<Instance> {
    const environment = { ...environmentOf(urlOf(database), vhost.url), LOG_LEVEL: 'info' };
    const process = startServiceProcess(environment, folder);
    running.push(process);
    const lines = (): Line[] =>
      process.output.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line);
    const address = (): string | undefined =>
      lines().flatMap(({ msg }) => /^listening on (\S+)/.exec(msg)?.[1] ?? [])[0];
    while (address() === undefined) {
      const end = await Promise.race([once(process.child.stdout ?? process.child, 'data'), process.exited]);
      if (!Array.isArray(end)) throw new Error(`it ended with ${end}: ${process.output.stderr}`);
    }
    return {
      url: address() ?? '',
      errors: () => lines().filter(({ level }) => level >= ERROR),
      stop: async () => {
        process.child.kill('SIGTERM');
        await process.exited;
      },
    };
  }

  const send = (method: 'post' | 'put', url: string, body: object) =>
    request(url)[method]('').set({ 'x-api-key': KEYS.all, connection: 'close' }).send(body);

  async function place({ url }: Instance): Promise<void> {
    for (let n = 0; n < ORDERS; n++) {
      await send('post', `${url}/orders`, anOrder({ paymentWindowMs: WINDOW_MS })).expect(201);
    }
  }

  const [count, statuses] = [
    async (sql: string): Promise<number> => Number((await dataSource.query<{ n: string }[]>(sql))[0]?.n),
    () => dataSource.query(`SELECT status, count(*)::int AS n FROM order_timeout.orders GROUP BY status`),
  ];

  it('run side by side, also when an instance of the one before starts again after the migrations of this one', async () => {
    const before = await start(previous.folder);
    const now = await start();
    await before.stop();
    const again = await start(previous.folder);
    await send('put', `${now.url}/inventory/apple`, { onHand: 1_000 }).expect(200);
    await Promise.all([place(again), place(now)]);
    await until(
      async () => (await count(`SELECT count(*) AS n FROM order_timeout.timeout WHERE kind = 'order.payment'`)) === 0,
    );
    await until(async () => (await count('SELECT count(*) AS n FROM order_timeout.outbox')) === 0);
    expect(await statuses()).toEqual([{ status: 'CLOSED', n: 2 * ORDERS }]);
    expect(await count('SELECT sum(reserved) AS n FROM order_timeout.inventory')).toBe(0);
    await Promise.all([again.stop(), now.stop()]);
    expect([...before.errors(), ...again.errors(), ...now.errors()]).toEqual([]);
  }, 120_000);
});

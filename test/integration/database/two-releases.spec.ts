import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import request from 'supertest';
import { type DataSource } from 'typeorm';
import { type PurgeStep } from '../../../src/orders/retention/purge-orders';
import { environmentOf, anOrder, KEYS } from '../../e2e/running-service';
import { connectTo, onServer, urlOf } from '../../support/database';
import { until } from '../../support/engine';
import { hasHistory, type PreviousRelease, unpackPreviousRelease } from '../../support/previous-release';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process';

const ERROR = 50;
const WINDOW_MS = 2_000;
const ORDERS = 10;
const DAY_MS = 86_400_000;

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
(hasHistory() ? describe : describe.skip)('two neighboring releases', () => {
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
  async function start(folder?: string, settings: Record<string, string> = {}): Promise<Instance> {
    const environment = { ...environmentOf(urlOf(database), vhost.url), LOG_LEVEL: 'info', ...settings };
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
  });

  it('share unmatched payments, whose table the one before knows by its former name', async () => {
    const settings = { LATE_PAYMENT: 'keep' };
    const now = await start(undefined, settings);
    const before = await start(previous.folder, settings);
    await send('put', `${now.url}/inventory/apple`, { onHand: 1_000 }).expect(200);
    await actOnUnmatched(before, now, 'before');
    await actOnUnmatched(now, before, 'now');
    expect(
      await dataSource.query(
        `SELECT reason || ' ' || handling AS text, count(*)::int AS n FROM order_timeout.unmatched_payment GROUP BY 1 ORDER BY 1`,
      ),
    ).toEqual([
      { text: 'amount-mismatch completed', n: 2 },
      { text: 'late refunding', n: 2 },
      { text: 'late revived', n: 2 },
      { text: 'late settled', n: 2 },
      { text: 'unknown-order adopted', n: 4 },
      { text: 'unknown-order settled', n: 2 },
    ]);
    expect(await purgeSettled()).toBe(2);
    await Promise.all([before.stop(), now.stop()]);
    expect([...before.errors(), ...now.errors()]).toEqual([]);
  });

  /** Everything that one does with unmatched payments, after the other has told of the same ones. */
  async function actOnUnmatched(one: Instance, other: Instance, name: string): Promise<void> {
    const because = { reason: 'the buyer called' };
    const post = (path: string, body: object) => send('post', `${one.url}${path}`, body);
    const place = async (id = anOrder().id): Promise<string> => {
      await post('/orders', anOrder({ id: `${name}-${id}` })).expect(201);
      return `${name}-${id}`;
    };
    const pay = async (id: string, reference: string, amount = 1_999): Promise<void> => {
      const payment = { provider: 'p', reference: `${name}-${reference}`, amount, currency: 'EUR' };
      for (const { url } of [other, one]) await send('post', `${url}/orders/${id}/paid`, payment);
    };
    const unmatched = async (reference: string): Promise<string> => {
      const answer = await request(one.url).get('/payments/unmatched').set('x-api-key', KEYS.all).expect(200);
      const rows = answer.body as { id: string; reference: string }[];
      return `/payments/unmatched/${rows.find((row) => row.reference === `${name}-${reference}`)?.id}`;
    };
    const closed = async (reference: string): Promise<string> => {
      const id = await place();
      await post(`/orders/${id}/close`, because).expect(200);
      await pay(id, reference);
      return id;
    };
    await pay('nobody', 'settled');
    await post(`${await unmatched('settled')}/settle`, because).expect(200);
    await pay('nobody', 'assigned');
    await post(`${await unmatched('assigned')}/assign`, { ...because, orderId: await place() }).expect(200);
    await pay(`${name}-early`, 'early');
    await place('early');
    const registered = await post(`/orders/${name}-early/attempts`, { provider: 'p', reference: `${name}-early` });
    // Its money may have paid the order already. The release before takes its attempt for registered.
    expect([200, 201, 409]).toContain(registered.status);
    const inParts = await place();
    await pay(inParts, 'part', 1_000);
    await pay(inParts, 'rest', 999);
    await post(`/orders/${await closed('revived')}/revive`, because).expect(200);
    const refunded = await closed('refunded');
    await dataSource.query(
      `UPDATE order_timeout.payment_attempt SET paid_source = 'provider' WHERE reference = '${name}-refunded'`,
    );
    await post(`/orders/${refunded}/refund`, { ...because, provider: 'p', reference: `${name}-refunded` }).expect(200);
    const erased = await closed('erased');
    await post(`${await unmatched('erased')}/settle`, because).expect(200);
    // An order whose events are not sent yet is not erased.
    await until(
      async () => (await count('SELECT count(*) AS n FROM order_timeout.outbox WHERE deliver_at IS NULL')) === 0,
    );
    await post(`/orders/${erased}/erase`, because).expect(200);
  }

  /** By the purge of the release before, which begins a minute after its start. */
  async function purgeSettled(): Promise<number> {
    const path = join(previous.folder, 'src/orders/retention/purge-rows');
    const { PurgeRows, settledMoney } = (await import(path)) as {
      PurgeRows: new (source: typeof dataSource, rows: object, keepMs: number) => PurgeStep;
      settledMoney: (schema: string) => object;
    };
    await dataSource.query(
      `UPDATE order_timeout.unmatched_payment SET created_at = now() - interval '2 days'
        WHERE order_id = 'nobody' AND handling = 'settled'`,
    );
    const purge = new PurgeRows(dataSource, settledMoney('order_timeout'), DAY_MS);
    return (await purge.purgePage(purge.beginning)).purged;
  }
});

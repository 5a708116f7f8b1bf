import { Orders } from '../../../src';
import { SystemClock } from '../../../src/clock';
import { Controls } from '../../../src/timeouts/controls/controls';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { blankProvider } from '../blank-provider';
import { KEYS, openOperatorHost, type OperatorHost, type SignedIn } from './operator-host';

const reason = 'the provider has a fault';
const KIND = 'order.payment';
const PAUSE = { by: 'operator', reason, at: expect.any(String) as string };

/** A provider whose payments have all expired. */
const expired = { ...blankProvider, query: async () => ({ type: 'CLOSED' as const }) };

interface State {
  readonly kinds: readonly { kind: string; paused: boolean; pause: unknown; overdueOldestSeconds: number | null }[];
  readonly providers: readonly object[];
  readonly broker: { readonly messagePath: string };
  readonly due: { readonly overdue: number };
}

describe.each(['with a broker', 'without a broker'])('an operator %s', (situation) => {
  const hasBroker = situation === 'with a broker';
  let vhost: TestVhost | undefined;
  let host: OperatorHost;
  let orders: Orders;
  let operator: SignedIn;
  let elsewhere: Controls;

  beforeAll(async () => {
    vhost = hasBroker ? await createVhost() : undefined;
    const rabbit = vhost && { urls: [vhost.url], queueType: 'classic' as const };
    const broker = rabbit ? ({ rabbit, transport: 'ladder', ladder: { base: 8 }, horizonMs: 60_000 } as const) : {};
    host = await openOperatorHost({ options: { ...broker, providers: [expired], orders: { reminderOffsetsMs: [] } } });
    orders = host.app.get(Orders);
    operator = await host.signIn(KEYS.operator);
    elsewhere = new Controls({ dataSource: host.database.dataSource, schema: 'order_timeout' }, new SystemClock());
    elsewhere.start();
    await until(async () => (await state()).broker.messagePath === (hasBroker ? 'up' : 'off'));
  });
  afterAll(async () => {
    await elsewhere.stop();
    await host.close();
    await vhost?.drop();
  });

  const state = async () => (await operator.get('overview')).body as unknown as State;
  const kindOf = async () => (await state()).kinds.find(({ kind }) => kind === KIND);
  const place = (id: string, paymentWindowMs: number, more: object = {}) =>
    orders.place({ id, amount: 500n, currency: 'EUR', paymentWindowMs, lines: [], ...more });
  const statusOf = async (id: string) => (await orders.get(id))?.status;

  it('pauses a kind in every instance, whatever would run it, and resumes it without a loss', async () => {
    const paused = await operator.post(`kinds/${KIND}/pause`, { reason });
    expect(paused).toMatchObject({ status: 200, body: { kind: KIND, paused: true, pause: PAUSE } });
    await until(() => elsewhere.paused.has(`kind:${KIND}`));
    for (let at = 0; at < 5; at++) await place(`paused-${at}`, 200 * at);
    // By then its wake-up has come, the sweep has passed by, and every look at the status has asked for it.
    await until(async () => {
      expect(await statusOf('paused-0')).toBe('PENDING');
      return ((await kindOf())?.overdueOldestSeconds ?? 0) >= 7;
    });
    expect(await kindOf()).toMatchObject({ paused: true, pause: PAUSE });

    expect((await operator.post(`kinds/${KIND}/resume`, { reason })).body).toMatchObject({
      paused: false,
      pause: null,
    });
    const isClosed = async (at: number) => (await statusOf(`paused-${at}`)) === 'CLOSED';
    for (let at = 0; at < 5; at++) await until(() => isClosed(at));
    expect((await state()).broker.messagePath).toBe(hasBroker ? 'up' : 'off');
    await until(() => !elsewhere.paused.has(`kind:${KIND}`));
    await place('after', 300);
    await until(async () => (await statusOf('after')) === 'CLOSED');
  });

  it('pauses a provider: orders with its payments wait, and nothing is decided', async () => {
    expect(await operator.post('providers/posting/pause', { reason })).toMatchObject({
      ...{ status: 200, body: { name: 'posting', paused: true, pause: PAUSE, limitPerSecond: null } },
    });
    await place('asked', 0, { merchantId: 'a', attempt: { provider: 'posting', reference: 'asked' } });
    await until(async () => (await statusOf('asked')) === 'CLOSING');
    const waiting = async () => {
      const [row] = await host.database.dataSource.query<{ last_error: string | null; attempts: number }[]>(
        `SELECT last_error, attempts FROM order_timeout.timeout WHERE kind = $1 AND key = 'asked'`,
        [KIND],
      );
      return row;
    };
    await until(async () => (await waiting())?.last_error?.includes('an operator has paused the provider') ?? false);
    expect(await waiting()).toMatchObject({ attempts: 0 });
    // It is tried every few seconds meanwhile, and is still overdue.
    await until(async () => ((await kindOf())?.overdueOldestSeconds ?? 0) >= 6);
    expect((await state()).due.overdue).toBe(1);
    const ofMerchant = await host.signIn(KEYS.ofA);
    expect((await ofMerchant.get('overview')).body).toMatchObject({ due: { overdue: 1 }, orders: { closing: 1 } });
    await operator.post('providers/posting/resume', { reason }).expect(200);
    await until(async () => (await statusOf('asked')) === 'CLOSED');
  });

  it('limits a provider, and takes the limit back', async () => {
    const limited = await operator.post('providers/posting/limit', { reason, perSecond: 2 });
    expect(limited).toMatchObject({ status: 200, body: { limitPerSecond: 2, paused: false } });
    await until(async () => JSON.stringify((await state()).providers).includes('"limitPerSecond":2'));
    expect((await state()).providers).toMatchObject([{ name: 'posting', configuredPerSecond: 100, paused: false }]);
    const freed = await operator.post('providers/posting/limit', { reason, perSecond: null });
    expect(freed.body).toMatchObject({ limitPerSecond: null });
  });

  it.each(['on', '5', '[]', 'null', '{"pause":{"by":1}}', '{"limit":{"perSecond":-1}}'])(
    'pauses although the stored state is %s',
    async (value) => {
      await host.database.dataSource.query(
        `INSERT INTO order_timeout.engine_setting AS s (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value`,
        ['control:provider:posting', value],
      );
      const limited = await operator.post('providers/posting/limit', { reason, perSecond: 3 });
      expect(limited).toMatchObject({ status: 200, body: { paused: false, limitPerSecond: 3 } });
      const paused = await operator.post('providers/posting/pause', { reason });
      expect(paused).toMatchObject({ status: 200, body: { paused: true, pause: PAUSE, limitPerSecond: 3 } });
      await operator.post('providers/posting/limit', { reason, perSecond: null }).expect(200);
      await operator.post('providers/posting/resume', { reason }).expect(200);
    },
  );

  it('is refused what cannot be', async () => {
    expect((await operator.post('kinds/order.unknown/pause', { reason })).body.code).toBe('VALIDATION_FAILED');
    expect((await operator.post('providers/nobody/pause', { reason })).body.code).toBe('PROVIDER_NOT_CONFIGURED');
    for (const perSecond of [0, -1, 1e9, 'fast'])
      expect((await operator.post('providers/posting/limit', { reason, perSecond })).status).toBe(400);
    for (const path of [`kinds/${KIND}/pause`, `kinds/${KIND}/resume`, 'providers/posting/pause'])
      expect((await operator.post(path, {})).status).toBe(400);
    const [reader, ofA] = [await host.signIn(KEYS.cashier), await host.signIn(KEYS.ofA)];
    for (const path of [`kinds/${KIND}/pause`, 'providers/posting/resume'])
      for (const one of [reader, ofA]) expect((await one.post(path, { reason })).status).toBe(403);
  });
});

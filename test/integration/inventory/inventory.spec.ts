import { type EntityManager } from 'typeorm';
import { Database } from '../../../src/database';
import { Inventory, StockOwners } from '../../../src/inventory';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';

const SCHEMA = 'order_timeout';
const MAX_STOCK = 2 ** 31 - 1;

describe('inventory on PostgreSQL', () => {
  let inventory: Inventory;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
    inventory = new Inventory(new Database(database.dataSource, SCHEMA));
  });
  afterAll(() => database.drop());

  const setStock = (sku: string, onHand: number) => inventory.setStock(database.dataSource.manager, sku, onHand);
  const level = async (sku: string) => (await inventory.read(database.dataSource.manager, [sku]))[0];
  const reserve = (...demands: [string, Record<string, number>][]) =>
    database.dataSource.transaction((tx) =>
      inventory.reserve(
        tx,
        demands.map(([orderId, lines]) => ({
          orderId,
          lines: Object.entries(lines).map(([sku, quantity]) => ({ sku, quantity })),
        })),
      ),
    );
  const release = (...orders: string[]) => database.dataSource.transaction((tx) => inventory.release(tx, orders));
  const commit = (...orders: string[]) => database.dataSource.transaction((tx) => inventory.commit(tx, orders));
  const audit = () => inventory.audit(database.dataSource.manager);
  const isSomebodyWaiting = async () => {
    const waiting = await database.dataSource.query<unknown[]>(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  };

  /** What `act` resolves to if it waits for another transaction, which commits what it has `changed`. */
  const besideAnother = async <T>(
    changed: (tx: EntityManager) => Promise<unknown>,
    act: () => Promise<T>,
  ): Promise<T> => {
    const other = database.dataSource.createQueryRunner();
    await other.startTransaction();
    await changed(other.manager);
    const acting = act();
    await until(isSomebodyWaiting);
    await other.commitTransaction();
    await other.release();
    return acting;
  };

  it('reserves nothing if one SKU of one order is short, and says which', async () => {
    await setStock('a1', 10);
    await setStock('a2', 1);
    const outcome = await reserve(['s1', { a1: 2 }], ['s2', { a1: 3, a2: 2 }]);
    expect(outcome).toEqual({
      type: 'refused',
      shortages: [{ sku: 'a2', wanted: 2, available: 1 }],
      unknownSkus: [],
      available: new Map([
        ['a1', 10],
        ['a2', 1],
      ]),
    });
    expect(await level('a1')).toMatchObject({ reserved: 0, available: 10 });
  });

  it('distinguishes an unknown SKU from a short one', async () => {
    await setStock('b1', 0);
    const outcome = await reserve(['u1', { b1: 1, nowhere: 1 }]);
    expect(outcome).toMatchObject({
      unknownSkus: ['nowhere'],
      shortages: [{ sku: 'b1', wanted: 1, available: 0 }],
    });
  });

  it('treats a SKU of another merchant as unknown, and shares SKUs without an owner', async () => {
    const { manager } = database.dataSource;
    const owners = new StockOwners(new Database(database.dataSource, SCHEMA));
    expect(await owners.claim(manager, 'of-a', 'a')).toBe(true);
    expect(await owners.claim(manager, 'of-a', 'a')).toBe(true);
    expect(await owners.claim(manager, 'of-a', 'b')).toBe(false);
    await setStock('of-a', 10);
    await setStock('of-all', 10);
    expect(await owners.claim(manager, 'of-all', 'a')).toBe(false);
    const order = (merchantId: string | undefined, ...skus: string[]) => ({
      orderId: `${merchantId}-${skus.join()}`,
      ...(merchantId === undefined ? {} : { merchantId }),
      lines: skus.map((sku) => ({ sku, quantity: 1 })),
    });
    const take = (...demands: ReturnType<typeof order>[]) =>
      database.dataSource.transaction((tx) => inventory.reserve(tx, demands));
    const refused = { type: 'refused', unknownSkus: ['of-a'], shortages: [], owners: new Map([['of-a', 'a']]) };
    expect(await take(order('b', 'of-a', 'of-all'))).toMatchObject(refused);
    expect(await take(order('a', 'of-a'), order('b', 'of-a'))).toMatchObject(refused);
    expect(await level('of-a')).toMatchObject({ reserved: 0 });
    expect(await take(order('a', 'of-a', 'of-all'), order('b', 'of-all'))).toEqual({ type: 'reserved' });
    expect(await take(order(undefined, 'of-a'))).toEqual({ type: 'reserved' });
    expect(await level('of-a')).toMatchObject({ reserved: 2 });
  });

  it('adds up lines of one SKU within an order and across orders', async () => {
    await setStock('c1', 6);
    const twice = [
      { sku: 'c1', quantity: 2 },
      { sku: 'c1', quantity: 1 },
    ];
    const demands = ['agg1', 'agg2'].map((orderId) => ({ orderId, lines: twice }));
    const outcome = await database.dataSource.transaction((tx) => inventory.reserve(tx, demands));
    expect(outcome).toEqual({ type: 'reserved' });
    expect(await level('c1')).toEqual({ sku: 'c1', onHand: 6, reserved: 6, available: 0 });
  });

  it('counts a repeated reservation once', async () => {
    await setStock('d1', 1);
    expect(await reserve(['again', { d1: 1 }])).toEqual({ type: 'reserved' });
    expect(await reserve(['again', { d1: 1 }])).toEqual({ type: 'reserved' });
    expect(await level('d1')).toMatchObject({ reserved: 1 });
  });

  it('releases exactly what several orders of one SKU held', async () => {
    await setStock('e1', 20);
    await reserve(['r1', { e1: 1 }], ['r2', { e1: 2 }], ['r3', { e1: 4 }], ['r4', { e1: 8 }]);
    expect(await release('r1', 'r2', 'r3')).toBe(3);
    expect(await level('e1')).toMatchObject({ onHand: 20, reserved: 8 });
    expect(await commit('r4')).toBe(1);
    expect(await level('e1')).toMatchObject({ onHand: 12, reserved: 0 });
  });

  it('releases and sells goods in one statement', async () => {
    await setStock('both1', 10);
    await reserve(['back', { both1: 2 }], ['sold', { both1: 3 }], ['held', { both1: 1 }]);
    const ended = await database.dataSource.transaction((tx) =>
      inventory.end(tx, { release: ['back'], commit: ['sold'] }),
    );
    expect(ended).toBe(2);
    expect(await level('both1')).toEqual({ sku: 'both1', onHand: 7, reserved: 1, available: 6 });
  });

  it('ends each line once if an order is named twice, and sells it if it is named for both', async () => {
    await setStock('twice1', 10);
    await reserve(['named', { twice1: 4 }]);
    const ended = await database.dataSource.transaction((tx) =>
      inventory.end(tx, { release: ['named', 'named'], commit: ['named'] }),
    );
    expect(ended).toBe(1);
    expect(await level('twice1')).toEqual({ sku: 'twice1', onHand: 6, reserved: 0, available: 6 });
  });

  it('ends a line that another transaction is changing at that moment', async () => {
    await setStock('busy1', 10);
    await reserve(['busy', { busy1: 3 }]);
    const change = `UPDATE ${SCHEMA}.reservation SET qty = qty WHERE order_id = 'busy'`;
    const released = await besideAnother(
      (tx) => tx.query(change),
      () => release('busy'),
    );
    expect(released).toBe(1);
    expect(await level('busy1')).toMatchObject({ reserved: 0, available: 10 });
  });

  it('ends a reservation once, however often it is released and committed', async () => {
    await setStock('f1', 5);
    await reserve(['once', { f1: 5 }]);
    const calls = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? release('once') : commit('once')));
    const ended = await Promise.all(calls);
    expect(ended.reduce((sum, lines) => sum + lines, 0)).toBe(1);
    expect((await level('f1'))?.reserved).toBe(0);
  });

  it('refuses to set the stock below what is reserved', async () => {
    await setStock('g1', 5);
    await reserve(['held', { g1: 3 }]);
    expect(await setStock('g1', 2)).toEqual({ type: 'below-reserved', reserved: 3 });
    expect(await setStock('g1', 3)).toEqual({
      type: 'set',
      level: { sku: 'g1', onHand: 3, reserved: 3, available: 0 },
    });
  });

  const addStock = (sku: string, add: number) => inventory.addStock(database.dataSource.manager, sku, add);

  it('adds to the current stock, whatever was read before', async () => {
    await setStock('add1', 10);
    await reserve(['sold', { add1: 4 }]);
    await commit('sold');
    expect(await addStock('add1', 5)).toEqual({
      type: 'set',
      level: { sku: 'add1', onHand: 11, reserved: 0, available: 11 },
    });
  });

  it('removes units down to what is reserved, and not further', async () => {
    await setStock('add2', 5);
    await reserve(['holds', { add2: 3 }]);
    expect(await addStock('add2', -3)).toEqual({ type: 'below-reserved', reserved: 3 });
    expect(await addStock('add2', -2)).toMatchObject({ type: 'set', level: { onHand: 3, available: 0 } });
  });

  it('creates a SKU by adding to it, but not with a negative number', async () => {
    expect(await addStock('add3', -1)).toEqual({ type: 'below-reserved', reserved: 0 });
    expect(await level('add3')).toBeUndefined();
    expect(await addStock('add3', 0)).toMatchObject({ type: 'set', level: { sku: 'add3', onHand: 0 } });
  });

  it('refuses more than the column can hold', async () => {
    await setStock('add4', MAX_STOCK - 1);
    expect(await addStock('add4', 2)).toEqual({ type: 'too-large', max: MAX_STOCK });
    expect(await setStock('add4', MAX_STOCK + 1)).toEqual({ type: 'too-large', max: MAX_STOCK });
    expect(await level('add4')).toMatchObject({ onHand: MAX_STOCK - 1 });
  });

  it('adds up what 40 concurrent callers add to a new SKU', async () => {
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, index) => addStock('add5', index % 2 ? 3 : 2)));
    expect(outcomes.every((outcome) => outcome.type === 'set')).toBe(true);
    expect((await level('add5'))?.onHand).toBe(100);
  });

  it('sets the stock only if it is what the caller expects', async () => {
    const setIf = (onHand: number, expected: number) =>
      inventory.setStock(database.dataSource.manager, 'cas1', onHand, { expected });
    const present = { sku: 'cas1', onHand: 10, reserved: 0, available: 10 };
    expect(await setIf(10, 3)).toEqual({ type: 'changed', level: { ...present, onHand: 0, available: 0 } });
    expect(await setIf(10, 0)).toEqual({ type: 'set', level: present });
    expect(await setIf(15, 9)).toEqual({ type: 'changed', level: present });
    const both = await Promise.all([setIf(15, 10), setIf(20, 10)]);
    expect(both.map(({ type }) => type).sort()).toEqual(['changed', 'set']);
  });

  it('never sells more than the stock to 400 concurrent buyers', async () => {
    await setStock('hot', 100);
    await setStock('warm', 1_000);
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        reserve([`h${index}`, index % 2 ? { hot: 1, warm: 1 } : { warm: 1, hot: 1 }]),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.type === 'reserved')).toHaveLength(100);
    expect(await level('hot')).toEqual({ sku: 'hot', onHand: 100, reserved: 100, available: 0 });
    expect((await level('warm'))?.reserved).toBe(100);
  });

  it('mixes releases and commits of shared SKUs without a deadlock, and with exact sums', async () => {
    const skus = ['m1', 'm2', 'm3', 'm4'];
    for (const sku of skus) await setStock(sku, 1_000);
    const orders = Array.from({ length: 120 }, (_, index) => `mix${index}`);
    await Promise.all(
      orders.map((id, index) =>
        reserve([id, { [skus[index % 4] ?? '']: 1, [skus[(index + 1 + (index % 3)) % 4] ?? '']: 2 }]),
      ),
    );
    const batches = Array.from({ length: 15 }, (_, index) => orders.slice(index * 8, index * 8 + 8).reverse());
    await Promise.all(batches.map((batch, index) => (index % 3 === 0 ? commit(...batch) : release(...batch))));
    expect(await audit()).toEqual([]);
    for (const sku of skus) expect((await level(sku))?.reserved).toBe(0);
  });

  describe('while another transaction gives goods back', () => {
    /** What `act` resolves to if its snapshot still shows all five units of the SKU as reserved. */
    const whileGoodsComeBack = async <T>(sku: string, act: () => Promise<T>): Promise<T> => {
      await setStock(sku, 5);
      await reserve([`${sku}-first`, { [sku]: 5 }]);
      return besideAnother((tx) => inventory.release(tx, [`${sku}-first`]), act);
    };

    it('reserves them', async () => {
      const outcome = await whileGoodsComeBack('back1', () => reserve(['back1-next', { back1: 4 }]));
      expect(outcome).toEqual({ type: 'reserved' });
      expect(await level('back1')).toMatchObject({ onHand: 5, reserved: 4 });
    });

    it('reserves them again for an order that had released its own', async () => {
      await setStock('back2', 5);
      await reserve(['back2-revived', { back2: 3 }]);
      await release('back2-revived');
      const again = () => database.dataSource.transaction((tx) => inventory.reserveAgain(tx, 'back2-revived'));
      expect(await whileGoodsComeBack('back2', again)).toBe(true);
      expect(await level('back2')).toMatchObject({ onHand: 5, reserved: 3 });
    });

    it('sets the stock below what was reserved', async () => {
      expect(await whileGoodsComeBack('back3', () => setStock('back3', 2))).toMatchObject({ type: 'set' });
      expect(await level('back3')).toMatchObject({ onHand: 2, reserved: 0 });
    });
  });

  it('reports a counter that disagrees with its reservations', async () => {
    await setStock('z1', 9);
    await database.dataSource.query(`UPDATE ${SCHEMA}.inventory SET reserved = 4 WHERE sku = 'z1'`);
    expect(await audit()).toEqual([{ sku: 'z1', reserved: 4, expected: 0 }]);
  });
});

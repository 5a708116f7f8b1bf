import { serverUrl } from './database';
import { type HostLibrary } from './host-library';
import { type HostShop, REMINDER } from './host-shop';

/** What must be refused, because an order would exist without the host's commit, or never. */
export function describeMistakes(
  open: (url: string) => Promise<HostLibrary> | HostLibrary,
  given: () => { readonly shop: HostShop; readonly library: HostLibrary },
): void {
  it('is told apart from what commits each statement by itself', async () => {
    const { shop, library } = given();
    const order = shop.newOrder();
    const placed = async () => shop.orders.place(order, { tx: library.outside() });
    await expect(placed()).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/UNUSABLE_TRANSACTION' });
    expect(await shop.orders.get(order.id)).toBeUndefined();
  });

  it('is refused after its end, and leaves nothing', async () => {
    const { shop, library } = given();
    const { id, ...order } = shop.newOrder();
    const ended = await library.run(async ({ tx }) => tx);
    await expect(shop.orders.place({ id, ...order }, { tx: ended })).rejects.toThrow();
    const request = { kind: REMINDER, key: id, afterMs: 60_000 };
    await expect(shop.scheduler.schedule([request], { tx: ended })).rejects.toThrow();
    expect(await shop.orders.get(id)).toBeUndefined();
    expect(await shop.count('order_timeout.timeout', 'key', id)).toBe(0);
  });

  it('is refused if it belongs to a database without our tables', async () => {
    const { shop } = given();
    const elsewhere = await open(serverUrl());
    const placed = elsewhere.run(({ tx }) => shop.orders.place(shop.newOrder(), { tx }));
    const refused = expect(placed).rejects.toMatchObject({
      code: 'ORDER_TIMEOUT/UNUSABLE_TRANSACTION',
      message: expect.stringContaining('the database that the module is connected to') as string,
    });
    await refused.finally(() => elsewhere.close());
  });
}

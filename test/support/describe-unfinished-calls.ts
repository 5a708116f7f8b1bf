import { type HostLibrary, Undo } from './host-library';
import { type HostShop } from './host-shop';

const UNUSABLE = 'ORDER_TIMEOUT/UNUSABLE_TRANSACTION';
/** So many turns of the event loop: from before the first statement of a call until after its last one. */
const TURNS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20];

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/** Until the calls are over. */
function end(calls: readonly Promise<unknown>[], { forgetsLateStatements }: HostLibrary): Promise<unknown> {
  const settled = Promise.allSettled(calls);
  return forgetsLateStatements ? Promise.race([settled, turns(500)]) : settled;
}

/** What must hold if a host does not wait for a call before its transaction ends. */
export function describeUnfinishedCalls(given: () => { readonly shop: HostShop; readonly library: HostLibrary }): void {
  it('has nothing of the calls that still run when it is rolled back', async () => {
    const { shop, library } = given();
    for (const count of TURNS) {
      const orders = [shop.newOrder(), shop.newOrder()];
      const calls: Promise<unknown>[] = [];
      const work = library.run(async ({ tx, note }) => {
        await note(`host ${orders[0]?.id}`);
        calls.push(...orders.map((order) => shop.orders.place(order, { tx })));
        await turns(count);
        throw new Undo();
      });
      await expect(work).rejects.toThrow(Undo);
      await end(calls, library);
      // Whoever has the connection next must commit nothing of it.
      await library.run(({ note }) => note(`next ${orders[0]?.id}`));
      expect(await shop.count('host_note', 'text', `host ${orders[0]?.id}`)).toBe(0);
      expect(await shop.count('host_note', 'text', `next ${orders[0]?.id}`)).toBe(1);
      for (const { id } of orders) expect({ count, pieces: await shop.pieces(id) }).toEqual({ count, pieces: [] });
    }
    expect(await shop.inventory.audit(shop.database.dataSource.manager)).toEqual([]);
  });

  it('has nothing of a call that still runs when another one has refused its input', async () => {
    const { shop, library } = given();
    const [bad, good] = [shop.newOrder({ amount: -1 }), shop.newOrder()];
    const calls: Promise<unknown>[] = [];
    const work = library.run(({ tx }) => {
      calls.push(...[bad, good].map((order) => shop.orders.place(order, { tx })));
      return Promise.all(calls);
    });
    await expect(work).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/INVALID_ORDER' });
    await end(calls, library);
    await library.run(({ note }) => note(good.id));
    expect(await shop.pieces(good.id)).toEqual([]);
  });

  it('commits all of a call that nobody waits for, or is refused to commit', async () => {
    const { shop, library } = given();
    for (const count of TURNS) {
      const order = shop.newOrder();
      let call: Promise<unknown> = Promise.resolve();
      const committed = library.run(async ({ tx, note }) => {
        await note(order.id);
        call = shop.orders.place(order, { tx });
        call.catch(() => undefined);
        await turns(count);
      });
      const isCommitted = await committed.then(
        () => true,
        () => false,
      );
      let isPlaced = false;
      await end([call.then(() => (isPlaced = true))], library);
      const pieces = await shop.pieces(order.id);
      expect([0, 4]).toContain(pieces.length);
      expect({ count, isPlaced }).toEqual({ count, isPlaced: pieces.length === 4 });
      expect(await shop.count('host_note', 'text', order.id)).toBe(isCommitted ? 1 : 0);
      if (pieces.length > 0) expect(isCommitted).toBe(true);
    }
  });

  it('has nothing or all of a call that still runs when the part that it is in is rolled back', async () => {
    const { shop, library } = given();
    for (const count of TURNS) {
      const order = shop.newOrder();
      const calls: Promise<unknown>[] = [];
      const committed = library.run(async (host) => {
        await host.note(`outer ${order.id}`);
        const part = host.nest(async ({ tx }) => {
          calls.push(shop.orders.place(order, { tx }));
          await turns(count);
          throw new Undo();
        });
        await part.catch(() => undefined);
        await end(calls, library);
        // Fails if a late statement of the call has aborted the transaction.
        await host.note(order.id);
      });
      const isCommitted = await committed.then(
        () => true,
        () => false,
      );
      await end(calls, library);
      // A call that has not begun by then is one in the rest of the transaction.
      const pieces = await shop.pieces(order.id);
      expect([0, 4]).toContain(pieces.length);
      if (pieces.length > 0) expect(isCommitted).toBe(true);
      // The call may still run, and abort the transaction after the note.
      if (library.forgetsLateStatements) continue;
      for (const note of [`outer ${order.id}`, order.id])
        expect(await shop.count('host_note', 'text', note)).toBe(isCommitted ? 1 : 0);
      if (library.isSeen) expect({ count, isCommitted }).toEqual({ count, isCommitted: true });
    }
  });

  it('refuses the calls that wait behind one that fails, and can go on', async () => {
    const { shop, library } = given();
    const [failing, waiting, later] = [shop.newOrder(), shop.newOrder(), shop.newOrder()];
    await shop.orders.place(failing);
    await library.run(({ note }) => note(`canceled ${failing.id}`));
    const run = library.run(async ({ tx }) => {
      const results = await Promise.allSettled([
        // Its listener writes a note that is there already.
        shop.orders.cancel({ orderId: failing.id }, { tx }),
        shop.orders.place(waiting, { tx }),
      ]);
      const [first, second] = results.map((result) =>
        result.status === 'rejected' ? (result.reason as Error) : result,
      );
      expect(second).toMatchObject({ code: UNUSABLE, cause: first });
      if (!library.rollsBackFailures) await shop.orders.place(later, { tx });
    });
    if (library.rollsBackFailures) await expect(run).rejects.toThrow();
    else await run;
    expect(await shop.orders.get(failing.id)).toMatchObject({ status: 'PENDING' });
    expect(await shop.orders.get(waiting.id)).toBeUndefined();
    expect(await shop.pieces(later.id)).toHaveLength(library.rollsBackFailures ? 0 : 4);
  });
}

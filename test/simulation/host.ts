import { type EntityManager, QueryFailedError } from 'typeorm';
import { type INestApplicationContext } from '@nestjs/common';
import { type NewOrder, Orders, type PlaceResult } from '../../src';
import { Database } from '../../src/database';
import { type Bank } from './bank';
import { type Stage } from './stage';

type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

/** SQLSTATE: calls have been in each other's way. */
const NO_SAVEPOINT = '3B001';

/** The host gives up its own work after so many tries. */
const TRIES = 3;

/** A host that places an order in a transaction of its own, beside other calls, and commits, or changes its mind. */
export class Host {
  constructor(
    private readonly stage: Stage,
    private readonly bank: Bank,
  ) {}

  /** Undefined: it is not known to be placed, and shall not be there if the host says so. */
  async place(order: NewOrder): Promise<PlaceResult | undefined> {
    const { stage } = this;
    const { random, kernel } = stage;
    const isolation = random.pick<Isolation>([6, 'READ COMMITTED'], [1, 'REPEATABLE READ'], [1, 'SERIALIZABLE']);
    const isMeant = random.chance(0.7);
    for (let tries = 0; tries < TRIES; tries++) {
      await kernel.turn(`a host begins to place ${order.id}, ${isolation}${isMeant ? '' : ', in vain'}`);
      const end = { isDue: false };
      try {
        const result = await stage.someone?.request((app) =>
          this.dataSourceOf(app).transaction(isolation, async (tx) => {
            const placed = await this.call(app.get(Orders), tx, order);
            if (random.chance(0.3)) await stage.pause(0, 20);
            if (!isMeant || placed.outcome === 'rejected') throw new Error('the host changes its mind');
            end.isDue = true;
            return placed;
          }),
        );
        if (result) {
          kernel.say(`the host has placed ${order.id}: ${result.outcome}`);
          return result;
        }
      } catch (error) {
        const { message } = error as Error;
        kernel.say(`the host has not placed ${order.id}: ${message}`);
        if (isMixed(error)) stage.mishaps.push(`${order.id} was not placed: ${message}`);
        // COMMIT may have come through.
        if (end.isDue) return stage.ask(`the shop places ${order.id}`, (orders) => orders.place(order));
      }
      await stage.pause(1, 5);
    }
    stage.unplaced.add(order.id);
    return undefined;
  }

  /** Reads orders and their stock for an update, and is slow. */
  async hold(orders: number): Promise<void> {
    const { stage } = this;
    for (let times = stage.random.between(1, 4); times > 0; times--) {
      await stage.pause(5, 50);
      await this.holdOne(`o${stage.random.between(1, orders)}`);
    }
  }

  /** Or those whose deadline is near, as a job of the host that reminds buyers. */
  private async holdOne(orderId: string): Promise<void> {
    const { stage } = this;
    const which = stage.random.chance(0.5) ? 'id = $1' : "(id = $1 OR expires_at < now() + interval '10 seconds')";
    const work = async (tx: EntityManager): Promise<void> => {
      await tx.query(`SELECT 1 FROM order_timeout.orders WHERE ${which} FOR UPDATE`, [orderId]);
      if (stage.random.chance(0.5)) await tx.query('SELECT 1 FROM order_timeout.inventory FOR UPDATE');
      stage.kernel.say(`a host holds ${orderId}`);
      await stage.pause(1, 40);
    };
    await stage.someone
      ?.request((app) => this.dataSourceOf(app).transaction(work))
      .catch((error: unknown) => stage.kernel.say(`a host holds ${orderId} no more: ${(error as Error).message}`));
  }

  /** Beside each other or one after the other. The last may be refused, or fail. */
  private async call(orders: Orders, tx: EntityManager, order: NewOrder): Promise<PlaceResult> {
    const { random } = this.stage;
    const { bank } = this;
    const link = { reference: `${order.id}-h`, account: bank.defaultAccount };
    const expires = bank.drawExpiry(random);
    const attempt = { orderId: order.id, provider: bank.name, reference: link.reference, ...expires };
    bank.open(link, order.id, BigInt(order.amount), false, expires);
    const more = random.pick<(() => Promise<unknown>) | undefined>(
      [3, undefined],
      [1, () => orders.registerAttempt(attempt, { tx })],
      [1, () => orders.cancel({ orderId: 'nobody' }, { tx })],
      [4, () => this.cancel(orders, tx, order.id)],
      [1, () => tx.query('SELECT 1 / 0')],
      [1, () => orders.place({ ...order, amount: -1n }, { tx })],
    );
    if (!more) return orders.place(order, { tx });
    if (random.chance(0.5)) return (await Promise.all([orders.place(order, { tx }), more()]))[0];
    const placed = await orders.place(order, { tx });
    // Some hosts go on as if nothing had happened. After an error of PostgreSQL, their COMMIT would be a ROLLBACK.
    await more().catch((error: unknown) => {
      if (error instanceof QueryFailedError || random.chance(0.5)) throw error;
    });
    return placed;
  }

  /** A listener may fail when all else is written. */
  private async cancel(orders: Orders, tx: EntityManager, orderId: string): Promise<void> {
    const { uncanceled } = this.stage;
    uncanceled.add(orderId);
    const { outcome } = await orders.cancel({ orderId }, { tx });
    if (outcome !== 'rejected') uncanceled.delete(orderId);
  }

  private dataSourceOf(app: INestApplicationContext): Database['dataSource'] {
    return app.get(Database).dataSource;
  }
}

/** It awaits all of its calls before it ends its transaction, so nobody else can have ended a savepoint. */
function isMixed(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: string; readonly cause?: unknown };
  return code === NO_SAVEPOINT || (typeof cause === 'object' && cause !== null && isMixed(cause));
}

import { ConsoleLogger, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  Inventory,
  type NewOrder,
  OnOrder,
  OnOrderInTransaction,
  type OrderEvent,
  Orders,
  OrderTimeoutModule,
} from '../../src';
import { Outbox } from '../../src/public/rabbit';
import {
  DONE,
  TimeoutEngine,
  TimeoutHandler,
  TimeoutObservers,
  type TimeoutOutcome,
  TimeoutScheduler,
} from '../../src/public/timeouts';
import { type EntityManager } from 'typeorm';
import { createDatabase, type TestDatabase } from './database';
import { Recorder, until } from './engine';
import { HOST_TABLE } from './host-library';
import { createVhost } from './rabbit-vhost';

/** A timeout of the host. */
export const REMINDER = 'basket.reminder';

@Injectable()
@TimeoutHandler(REMINDER)
class Reminders {
  handle(): TimeoutOutcome {
    return DONE;
  }
}

/** Notes canceled orders in the host's table, and the ids that it hears of after the commit. */
@Injectable()
class Cancellations {
  readonly heard: string[] = [];

  @OnOrderInTransaction('cancelled')
  async note(events: OrderEvent<'cancelled'>[], tx: EntityManager): Promise<void> {
    const notes = events.map(({ orderId }) => `canceled ${orderId}`);
    await tx.query('INSERT INTO host_note SELECT unnest($1::text[])', [notes]);
  }

  @OnOrder('cancelled')
  hear({ orderId }: OrderEvent<'cancelled'>): void {
    this.heard.push(orderId);
  }
}

/** The module in a host that gives it a URL, and looks at the database from outside. */
export interface HostShop {
  readonly database: TestDatabase;
  readonly orders: Orders;
  readonly inventory: Inventory;
  readonly scheduler: TimeoutScheduler;
  readonly outbox: Outbox;
  readonly settled: Recorder;
  /** Canceled orders that a listener has heard of. */
  readonly heard: readonly string[];
  readonly newOrder: (order?: Partial<NewOrder>) => NewOrder;
  /** Rows of a table that have this id. */
  count(table: string, column: string, id: string): Promise<number>;
  /** Sessions that wait for a lock. */
  waitingSessions(): Promise<number>;
  /** Which of order, line, timeout, and reservation exist of an order. */
  pieces(orderId: string): Promise<string[]>;
  close(): Promise<void>;
}

/** Sessions that begin later have a time zone in which no instant reads as at UTC. */
const LOCAL_TIME = `DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I SET timezone TO %L', current_database(), 'Asia/Kolkata');
END $$`;

let orders = 0;

function newOrder(order: Partial<NewOrder> = {}): NewOrder {
  const lines = [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }];
  return { id: `hosted-${++orders}`, amount: 1_999, currency: 'EUR', paymentWindowMs: 3_600_000, lines, ...order };
}

/** Starts the module, with a connection of its own. */
export async function openHostShop(): Promise<HostShop> {
  const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  await database.dataSource.query(HOST_TABLE);
  await database.dataSource.query(LOCAL_TIME);
  const module = await startModule(database.url, vhost.url);
  const settled = new Recorder();
  module.get(TimeoutObservers).add({ settled: (_kind, rows, nowMs) => settled.add(rows, nowMs) });
  await module.init();
  await until(() => module.get(TimeoutEngine).isMessagePathUp);
  await module.get(Inventory).setStock(database.dataSource.manager, 'apple', 1_000);
  return {
    database,
    orders: module.get(Orders),
    inventory: module.get(Inventory),
    scheduler: module.get(TimeoutScheduler),
    outbox: module.get(Outbox),
    settled,
    heard: module.get(Cancellations).heard,
    newOrder,
    count: async (table, column, id) => {
      const sql = `SELECT count(*)::int AS count FROM ${table} WHERE ${column} = $1`;
      const [row] = await database.dataSource.query<{ count: number }[]>(sql, [id]);
      return row?.count ?? 0;
    },
    waitingSessions: async () => {
      const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      const [row] = await database.dataSource.query<{ count: number }[]>(sql);
      return row?.count ?? 0;
    },
    pieces: async (orderId) => {
      const of = (table: string, column: string) =>
        `SELECT '${table}' AS piece FROM order_timeout.${table} WHERE ${column} = $1`;
      const sql = [
        of('orders', 'id'),
        of('order_line', 'order_id'),
        of('timeout', 'key'),
        of('reservation', 'order_id'),
      ];
      const rows = await database.dataSource.query<{ piece: string }[]>(sql.join(' UNION ALL '), [orderId]);
      return rows.map(({ piece }) => piece);
    },
    close: async () => {
      await module.close();
      await Promise.all([database.drop(), vhost.drop()]);
    },
  };
}

function startModule(url: string, rabbitUrl: string): Promise<TestingModule> {
  const options = OrderTimeoutModule.forRoot({
    database: url,
    rabbit: { urls: [rabbitUrl], queueType: 'classic' },
    transport: 'ladder',
    ladder: { base: 8 },
    // On a busy machine it would come before a message that these tests expect.
    sweep: { marginMs: 3_600_000 },
    orders: { reminderOffsetsMs: [], unknownProviders: 'allow', latePayment: 'keep' },
    shutdownTimeoutMs: 3_000,
  });
  const building = Test.createTestingModule({ imports: [options], providers: [Reminders, Cancellations] });
  return building
    .setLogger(new ConsoleLogger({ logLevels: process.env.TEST_LOGS ? ['log', 'warn', 'error'] : [] }))
    .compile();
}

// Creates jobs with the real pg-boss, which needs a later Node.js than the tests: orders on stdin, as JSON.
import { text } from 'node:stream/consumers';
import { load } from '../../../../bench/peers/packages.mjs';

/**
 * @typedef {{ orderId: string, dueAt: string }} Order
 * @typedef {object} Boss
 * @property {() => Promise<unknown>} start
 * @property {(name: string) => Promise<unknown>} createQueue
 * @property {(name: string, jobs: object[]) => Promise<unknown>} insert
 * @property {(name: string, data: object, options: object) => Promise<string>} send
 * @property {(name: string, id: string) => Promise<unknown>} cancel
 * @property {(options: object) => Promise<unknown>} stop
 */
const { PgBoss } = /** @type {{ PgBoss: new (options: object) => Boss }} */ (load('pg-boss'));

/** @type {unknown} */
const given = JSON.parse(await text(process.stdin));
const orders = /** @type {Order[]} */ (given);
const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, schedule: false, supervise: false });
await boss.start();
for (const queue of ['close-order', 'send-mail']) await boss.createQueue(queue);
await boss.insert(
  'close-order',
  orders.map(({ orderId, dueAt }) => ({ data: { orderId }, startAfter: dueAt })),
);
// Neither of these waits for its deadline.
await boss.send('send-mail', { orderId: 'o-mail' }, { startAfter: 3600 });
const canceled = await boss.send('close-order', { orderId: 'o-canceled' }, { startAfter: 3600 });
await boss.cancel('close-order', canceled);
await boss.stop({ graceful: true });

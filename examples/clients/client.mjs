// A client in Node.js, from docs/openapi.json and docs/asyncapi.json alone: it places one order over HTTP and one over
// AMQP, pays neither, and waits until it hears that both are closed.
//
//     API_KEY=… node client.mjs
import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';

const { SERVICE_URL = 'http://127.0.0.1:3000', RABBITMQ_URL = 'amqp://127.0.0.1', API_KEY = '' } = process.env;
const PREFIX = process.env.RABBITMQ_PREFIX ?? 'order-timeout.v1';
const WAIT_MS = 30_000;

/** @param {string} method @param {string} path @param {object} body */
async function call(method, path, body) {
  const response = await fetch(`${SERVICE_URL}${path}`, {
    method,
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${await response.text()}`);
}

/** @param {string} id */
const order = (id) => ({
  id,
  amount: 4200,
  currency: 'EUR',
  paymentWindowMs: 1000,
  graceMs: 0,
  lines: [{ sku: 'node-apple', quantity: 1, unitAmount: 4200 }],
});

const connection = await connect(RABBITMQ_URL);
const channel = await connection.createConfirmChannel();

// Listen first, so that no event is missed.
const { queue } = await channel.assertQueue('', { exclusive: true });
await channel.bindQueue(queue, `${PREFIX}.events`, 'order.closed');
const waiting = new Set([`node-http-${randomUUID()}`, `node-amqp-${randomUUID()}`]);
const [overHttp = '', overAmqp = ''] = waiting;

/** @type {Promise<void>} */
const allClosed = new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`not closed in time: ${[...waiting].join(', ')}`)), WAIT_MS).unref();
  void channel.consume(
    queue,
    (message) => {
      /** @type {unknown} */
      const body = JSON.parse(message?.content.toString() ?? '{}');
      const event = /** @type {{ orderId: string, reason: string }} */ (body);
      // Events may arrive twice, and are about the orders of others too.
      if (!waiting.delete(event.orderId)) return;
      console.log(`${event.orderId} is closed: ${event.reason}`);
      if (waiting.size === 0) resolve();
    },
    { noAck: true },
  );
});

await call('PUT', '/inventory/node-apple', { add: 2 });
await call('POST', '/orders', order(overHttp));
console.log(`${overHttp} is placed over HTTP`);

const command = Buffer.from(JSON.stringify(order(overAmqp)));
channel.publish(`${PREFIX}.commands`, 'order.placed', command, { persistent: true, appId: 'node-example' });
await channel.waitForConfirms();
console.log(`${overAmqp} is sent over AMQP`);

await allClosed;
await connection.close();

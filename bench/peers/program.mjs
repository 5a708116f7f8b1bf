// node program.mjs '{"peer": "pg-boss", "shape": "drain", …}': one peer does one shape in a process of its own, and
// tells what it measured in one JSON line on stdout.
import { shapes } from './shapes.mjs';

/**
 * @typedef {object} Task
 * @property {string} peer       module of this folder
 * @property {keyof typeof shapes} shape
 * @property {number} count      jobs
 * @property {number} leadMs     between the start of scheduling and the first deadline
 * @property {number} spreadMs   between the first and the last deadline
 * @property {string} databaseUrl
 * @property {string} amqpUrl
 * @property {string} redisUrl
 * @property {boolean} [isBatched]  `close`: many orders in one transaction, where the peer hands out batches
 * @property {import('../../src/index.js').DelayTransportSetting} [transport]  of the product
 */

/** @type {unknown} */
const given = JSON.parse(process.argv[2] ?? '{}');
const task = /** @type {Task} */ (given);
/** @type {unknown} */
const peer = await import(`./${task.peer}.mjs`);
const { openPeer } = /** @type {{ openPeer: import('./shapes.mjs').OpenPeer }} */ (peer);
process.stdout.write(`${JSON.stringify(await shapes[task.shape](openPeer, task))}\n`);
process.exit(0);

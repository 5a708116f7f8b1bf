import { load } from './packages.mjs';

const amqp = /** @type {typeof import('amqplib')} */ (load('amqplib'));

// Without any one of the last two, dead-lettering falls back to at-most-once.
const quorum = { 'x-queue-type': 'quorum', 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' };
const prefetch = 1000;

/**
 * What a user builds from the broker alone: one quorum queue where messages wait for their own TTL, dead-lettered
 * to the queue that is worked on. Right only while deadlines come in order, because a queue expires at its head.
 *
 * @type {import('./shapes.mjs').OpenPeer}
 */
export async function openPeer({ amqpUrl, shape }) {
  const [wait, work] = [`wait-${shape}`, `work-${shape}`];
  const connection = await amqp.connect(amqpUrl);
  const publisher = await connection.createConfirmChannel();
  const consumer = await connection.createChannel();
  await consumer.assertQueue(work, { arguments: { 'x-queue-type': 'quorum' } });
  const deadLetter = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': work };
  await consumer.assertQueue(wait, { arguments: { ...quorum, ...deadLetter } });
  let [scheduled, acked] = [0, 0];

  const publish = (/** @type {import('./shapes.mjs').Job} */ job) =>
    new Promise((resolve, reject) => {
      const expiration = String(Math.max(0, job.dueAtMs - Date.now()));
      const options = { persistent: true, expiration };
      scheduled += 1;
      const onConfirm = (/** @type {Error | null} */ error) => (error ? reject(error) : resolve(undefined));
      publisher.sendToQueue(wait, Buffer.from(JSON.stringify(job)), options, onConfirm);
    });

  return {
    schedule: publish,
    scheduleMany: (jobs) => Promise.all(jobs.map(publish)),
    work: async (handle) => {
      await consumer.prefetch(prefetch);
      /** @param {import('amqplib').ConsumeMessage | null} message */
      const take = async (message) => {
        if (!message) throw new Error('the broker has cancelled the consumer');
        /** @type {unknown} */
        const job = JSON.parse(message.content.toString());
        await handle([/** @type {import('./shapes.mjs').Job} */ (job)]);
        consumer.ack(message);
        acked += 1;
      };
      // A rejection ends the process.
      await consumer.consume(work, (message) => void take(message));
    },
    // The broker answers on the channel after it has taken the acknowledgements before it.
    waiting: async () => {
      await consumer.checkQueue(work);
      return scheduled - acked;
    },
    close: () => connection.close(),
  };
}

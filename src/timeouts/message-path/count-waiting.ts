import { type Clock } from '../../clock';
import { type RabbitClient } from '../../rabbit';
import { withTemporaryConnection } from './with-temporary-connection';

const ANSWER_MS = 10_000;

/** How many messages are ready in each of these queues; 0 if nobody consumes it. @throws when the broker cannot be asked. */
export function countWaiting(client: RabbitClient, clock: Clock, queues: readonly string[]): Promise<number[]> {
  return withTemporaryConnection(client, clock, ANSWER_MS, async (connection) => {
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    const answers = await Promise.all(queues.map((queue) => channel.checkQueue(queue)));
    return answers.map(({ consumerCount, messageCount }) => (consumerCount > 0 ? messageCount : 0));
  });
}

import { type Clock, inTime, withTimeout } from '../../clock';
import { type ChannelModel, type RabbitClient } from '../../rabbit';

const CLOSE_MS = 1_000;

/**
 * Runs `work` on a connection of its own, for at most `ms`, and closes it.
 *
 * @throws what `work` throws, or an error when the broker did not answer in time.
 */
export async function withTemporaryConnection<T>(
  client: Pick<RabbitClient, 'temporaryConnection'>,
  clock: Clock,
  ms: number,
  work: (connection: ChannelModel) => Promise<T>,
): Promise<T> {
  const connection = await client.temporaryConnection();
  try {
    return await inTime(clock, ms, work(connection), () => new Error(`the broker did not answer within ${ms} ms`));
  } finally {
    await withTimeout(
      clock,
      CLOSE_MS,
      connection.close().catch(() => undefined),
      undefined,
    );
  }
}

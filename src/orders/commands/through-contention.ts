import { Logger } from '@nestjs/common';
import { type Clock } from '../../clock';
import { isContention } from '../../timeouts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 4_000;
/** The broker takes a message back that is not acknowledged for 30 minutes, and its channel with it. */
const PATIENCE_MS = 15 * 60_000;

const logger = new Logger('Commands');

/**
 * Does `work`, which must bear repetition, again while somebody else holds a row that it needs. Here, and not by giving the
 * message back: that would pause the commands of everybody, and let later ones of the same order overtake it.
 *
 * @throws what the last try threw.
 */
export async function throughContention<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const endsAt = clock.monotonic() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isContention(error) || clock.monotonic() + pauseMs > endsAt) throw error;
      if (pauseMs === FIRST_PAUSE_MS) logger.warn(`a command waits for a row that somebody holds: ${String(error)}`);
      await clock.sleep(pauseMs);
    }
  }
}

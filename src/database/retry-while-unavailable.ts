import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';
import { isDatabaseUnavailable, isLoginRefused, isSchemaUnusable } from './database-errors';

/** As patient as the service's first connection: a database that restarts is back by then. */
const TRIES = 10;
const PAUSE_MS = 3_000;

const logger = new Logger('Start');

/**
 * Does `work`, which must bear repetition, again while the database is unavailable. Not if it refuses us: at the start, that is
 * more likely a wrong setting than an outage, and whoever starts it is there to read so.
 *
 * @throws what the last of ten tries threw
 */
export async function retryWhileUnavailable<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isHopeless = isLoginRefused(error) || isSchemaUnusable(error) || !isDatabaseUnavailable(error);
      if (tries >= TRIES || isHopeless) throw error;
      logger.warn(`the database is unavailable, trying again in ${PAUSE_MS} ms: ${String(error)}`);
      await clock.sleep(PAUSE_MS);
    }
  }
}

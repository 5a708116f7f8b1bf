import { join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { noteWhileWaiting } from '../setup/progress.mjs';
import { downloadRabbitmq, noRabbitmq } from './rabbitmq-download.mjs';
import { findRabbitmq } from './rabbitmq-installation.mjs';

/**
 * The installed RabbitMQ, else one unpacked below `home`, downloaded the first time.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 *   `shared`: another user runs the servers and must be able to read the files
 * @returns {Promise<import('./rabbitmq-installation.mjs').RabbitmqInstallation>}
 */
export async function obtainRabbitmq({ home, shared, signal, note }) {
  const unpacked = join(home, 'rabbitmq');
  const find = () => findRabbitmq('/') ?? findRabbitmq(unpacked);
  const found = find();
  if (found) return found;
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock('rabbitmq-download', { limitMs: 6 * 60_000, signal, whileWaiting }, async () => {
    if (!find()) await downloadRabbitmq({ target: unpacked, shared, signal, note });
    const made = find();
    if (!made) throw noRabbitmq();
    return made;
  });
}

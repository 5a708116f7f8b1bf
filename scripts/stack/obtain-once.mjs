import { codeOf } from '../setup/error-code.mjs';
import { withLock } from '../setup/lock.mjs';
import { noteWhileWaiting } from '../setup/progress.mjs';
import { logTailOf, SetupError } from '../setup/setup-error.mjs';

/**
 * What is there already, else what is downloaded the first time, by one run of this clone at a time.
 *
 * @template T
 * @param {import('../setup/progress.mjs').StepOptions & { name: string, limitMs: number, find: () => T | undefined,
 *   download: () => Promise<void>, missing: { code: string, message: string, remedy: string } }} options
 *   `missing`: what to say when it cannot be had
 * @returns {Promise<T>}
 */
export async function obtainOnce({ name, limitMs, find, download, missing, signal, note }) {
  const found = find();
  if (found) return found;
  const fail = (/** @type {unknown} */ cause) =>
    new SetupError(missing.code, missing.message, { remedy: missing.remedy, logTail: logTailOf(cause), cause });
  const downloadOnce = async () => {
    try {
      await download();
    } catch (error) {
      // What speaks for itself.
      if (signal?.aborted || codeOf(error) === `SETUP/${missing.code}`) throw error;
      throw fail(error);
    }
  };
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock(`${name}-download`, { limitMs, signal, whileWaiting }, async () => {
    if (!find()) await downloadOnce();
    const made = find();
    if (made) return made;
    throw fail(undefined);
  });
}

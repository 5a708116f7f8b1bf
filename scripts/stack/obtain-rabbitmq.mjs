import { join } from 'node:path';
import { obtainOnce } from './obtain-once.mjs';
import { downloadRabbitmq, noRabbitmq } from './rabbitmq-download.mjs';
import { findRabbitmq } from './rabbitmq-installation.mjs';
import { relocateErlang } from './relocate-erlang.mjs';

/**
 * The installed RabbitMQ, else one unpacked below `home`, downloaded the first time.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 *   `shared`: another user runs the servers and must be able to read the files
 * @returns {Promise<import('./rabbitmq-installation.mjs').RabbitmqInstallation>}
 */
export function obtainRabbitmq({ home, ...options }) {
  const target = join(home, 'rabbitmq');
  return obtainOnce({
    ...{ ...options, name: 'rabbitmq', limitMs: 6 * 60_000, missing: noRabbitmq },
    find: () => findRabbitmq('/') ?? findUnpacked(target),
    download: () => downloadRabbitmq({ ...options, target }),
  });
}

/** One that was unpacked for another place, before this clone was moved or copied, is set right. @param {string} target */
function findUnpacked(target) {
  const found = findRabbitmq(target);
  if (found) relocateErlang(target);
  return found;
}

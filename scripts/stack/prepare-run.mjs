import { ensureBuilds } from '../setup/build.mjs';
import { ensureDependencies } from '../setup/dependencies.mjs';
import { together } from '../setup/together.mjs';
import { environmentFor, ensureServers } from './servers.mjs';

/**
 * Packages and build on the one hand, servers on the other, side by side.
 *
 * @param {import('./servers.mjs').ServerName[]} names
 * @param {{ signal: AbortSignal, builds?: import('../setup/build.mjs').Build[], brokerMayBeDown?: boolean,
 *   brokerMayBeAbsent?: boolean }} options
 * @returns {Promise<Record<string, string>>} environment that names the servers
 */
export async function prepareRun(names, { signal, builds, ...options }) {
  const [, servers] = await together(signal, [
    async (either) => {
      await ensureDependencies({ signal: either });
      await ensureBuilds({ signal: either, ...(builds && { builds }) });
    },
    (either) => ensureServers(names, { ...options, signal: either }),
  ]);
  return environmentFor(servers);
}

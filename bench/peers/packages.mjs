import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.OT_BENCH_PEERS ?? '', 'package.json'));

/**
 * Loads a package of the peers, from the folder that the bench installed them into. The packages are not installed when
 * types are checked, so each peer declares what it uses.
 *
 * @param {string} name
 * @returns {unknown}
 */
export const load = (name) => require(name);

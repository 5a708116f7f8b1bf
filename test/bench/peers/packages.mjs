import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.OT_BENCH_PEERS ?? '', 'package.json'));

/**
 * Loads a package of the peers, from the folder that the bench installed them into. Its types are not there when ours
 * are checked: each peer says what it uses of it.
 *
 * @param {string} name
 * @returns {unknown}
 */
export const load = (name) => require(name);

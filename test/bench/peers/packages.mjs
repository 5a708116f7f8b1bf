import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Loads a package of the peers, from the folder that the bench installed them into. */
export const load = createRequire(join(process.env.OT_BENCH_PEERS ?? '', 'package.json'));

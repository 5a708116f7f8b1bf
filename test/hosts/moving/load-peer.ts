import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Loads a package of another tool, from the folder that `npm run suite -- moving` has installed them into. */
export function loadPeer<T>(name: string): T {
  const { OT_BENCH_PEERS: folder } = process.env;
  if (folder === undefined) throw new Error('OT_BENCH_PEERS is not set; run npm run suite -- moving');
  return createRequire(join(folder, 'package.json'))(name) as T;
}

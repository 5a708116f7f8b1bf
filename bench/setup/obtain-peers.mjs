import { serverHome } from '../../scripts/stack/server-user.mjs';
import { obtainRedis } from './obtain-redis.mjs';
import { obtainPeerPackages } from './peer-packages.mjs';

/**
 * What the product is measured against, downloaded the first time.
 *
 * @param {import('../../scripts/setup/progress.mjs').StepOptions} options
 * @returns {Promise<{ OT_BENCH_PEERS: string, OT_BENCH_NODE: string, OT_BENCH_REDIS: string }>} environment of the
 *   program: folder with node_modules, the Node to run them with, and redis-server
 */
export async function obtainPeers({ signal, note }) {
  const { home } = serverHome();
  const { folder, node } = await obtainPeerPackages({ home, signal, note });
  const redis = await obtainRedis({ home, signal, note });
  return { OT_BENCH_PEERS: folder, OT_BENCH_NODE: node, OT_BENCH_REDIS: redis };
}

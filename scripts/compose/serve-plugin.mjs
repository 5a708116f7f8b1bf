// The stand-in of the delayed-message plugin, for the build of rabbit/Dockerfile where the genuine one cannot be downloaded.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { run } from '../setup/run.mjs';

const limitMs = 60_000;

/**
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} image  the stand-in of RabbitMQ, which holds the file
 * @returns {Promise<{ url: string, sha256: string, close: () => void }>}
 */
export async function servePlugin({ env, folder }, image) {
  const path = join(folder, 'plugin', 'plugin.ez');
  mkdirSync(join(folder, 'plugin'), { recursive: true });
  const id = (await run('docker', ['create', image], { env, limitMs })).trim();
  await run('docker', ['cp', `${id}:/stand-in/plugin.ez`, path], { env, limitMs });
  await run('docker', ['rm', '--volumes', id], { env, limitMs });
  const file = readFileSync(path);
  const server = createServer((_, response) => response.end(file)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const sha256 = createHash('sha256').update(file).digest('hex');
  return { url: `http://127.0.0.1:${port}/plugin.ez`, sha256, close: () => void server.close() };
}

import { spawnSync } from 'node:child_process';

/**
 * Where Python finds pika, the AMQP client: `npm run suite -- clients` downloads it and names its folder. Undefined: this
 * machine has none.
 */
export function findPika(): { readonly path: string } | undefined {
  const path = process.env.OT_PYTHON_PACKAGES ?? '';
  const { status } = spawnSync('python3', ['-c', 'import pika'], { env: { ...process.env, PYTHONPATH: path } });
  return status === 0 ? { path } : undefined;
}

import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..', '..');
/** Preloaded, it lets Node run TypeScript. */
export const COMPILER = join(ROOT, 'test', 'support', 'compile-on-require.js');
/** Preloaded into a child that has an IPC channel. */
export const END_WITH_PARENT = join(__dirname, 'end-with-parent.js');

/** Where the sources and the build of each program are. */
const FOLDERS = {
  service: { src: 'src', dist: 'dist' },
  'payment-simulator': { src: 'packages/payment-simulator/src', dist: 'packages/payment-simulator/dist' },
};

/**
 * Arguments of Node that run a program of ours.
 *
 * @param isBuilt the build runs, as it is deployed, else the sources
 */
export function programFile(name: keyof typeof FOLDERS, isBuilt = false): string[] {
  const { src, dist } = FOLDERS[name];
  return isBuilt
    ? ['--enable-source-maps', join(ROOT, dist, 'main.js')]
    : ['--require', COMPILER, join(ROOT, src, 'main.ts')];
}

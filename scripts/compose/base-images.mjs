// The images that docker-compose.yml and the Dockerfiles start from: pulled, or made here where none can be pulled.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { hasImage, makeBaseImage, makeStandIn, standIns } from './stand-in-images.mjs';

const pullLimitMs = 5 * 60_000;
const read = (/** @type {string[]} */ ...path) => readFileSync(join(repository, ...path), 'utf8');

/** @param {string} dockerfile @returns {string | undefined} what its first stage starts from, with the defaults of its arguments */
export function firstImage(dockerfile) {
  const valueOf = (/** @type {string} */ name) => new RegExp(`^ARG ${name}=(.+)$`, 'm').exec(dockerfile)?.[1] ?? '';
  const [, image] = /^FROM (\S+)/m.exec(dockerfile) ?? [];
  return image?.replace(/\$\{(\w+)\}/g, (_, /** @type {string} */ name) => valueOf(name));
}

/** @returns {string[]} */
export function baseImages() {
  const named = [...read('docker-compose.yml').matchAll(/^ +image: (\S+)$/gm)].map(([, image = '']) => image);
  const built = [read('Dockerfile'), read('rabbit', 'Dockerfile')].map((text) => firstImage(text) ?? '');
  return [...built, ...named];
}

/** @param {string} image */
export const canStandIn = (image) => (image.split(':')[0] ?? '') in standIns;

/**
 * @typedef {{ standIns: string[], missing: string[] }} ImageSources
 *   `standIns`: made here. `missing`: neither pulled nor made, so that what needs them is not tested
 */

/**
 * @param {import('./engine.mjs').Engine} engine
 * @param {import('../setup/progress.mjs').StepOptions} options
 * @returns {Promise<ImageSources>}
 */
export async function obtainBaseImages(engine, { signal, note }) {
  // Compose comes out of it too.
  if (engine.isOwn) await makeBaseImage(engine, { signal, note });
  const images = baseImages();
  note?.(`pulling ${images.join(', ')}`);
  const pulled = await Promise.all(images.map((image) => isPulled(engine, image, signal)));
  const absent = images.filter((_, index) => !pulled[index]);
  if (absent.length === 0) return { standIns: [], missing: [] };
  if (!engine.isOwn) {
    throw new SetupError('NO_IMAGES', `the engine cannot pull ${absent.join(', ')}`, {
      remedy: 'pull them, or use OT_STACK=private (Debian, root), which makes stand-ins in an engine of its own',
    });
  }
  const made = absent.filter(canStandIn);
  for (const image of made) await makeStandIn(engine, image, { signal, note });
  return { standIns: made, missing: absent.filter((image) => !canStandIn(image)) };
}

/** What was made here by an earlier run is not what it stands for. @param {import('./engine.mjs').Engine} engine @param {string} image @param {AbortSignal | undefined} signal */
async function isPulled(engine, image, signal) {
  if (!engine.isOwn && (await hasImage(engine, image))) return true;
  const pull = run('docker', ['pull', '--quiet', image], { env: engine.env, limitMs: pullLimitMs, signal });
  return pull.then(
    () => true,
    () => false,
  );
}

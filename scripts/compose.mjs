// npm run suite -- compose [ARGUMENTS OF JEST]: docker-compose.yml and docs/docker.md on a Docker engine.
import { join } from 'node:path';
import { baseImages, obtainBaseImages } from './compose/base-images.mjs';
import { ensureEngine } from './compose/engine.mjs';
import { environmentFor, writeOverride } from './compose/environment.mjs';
import { servePlugin } from './compose/serve-plugin.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { repository } from './setup/paths.mjs';
import { say, showProgress } from './setup/progress.mjs';
import { run } from './setup/run.mjs';

const buildLimitMs = 20 * 60_000;
const jestLimitMs = 60 * 60_000;
const config = join('test', 'compose', 'jest.config.js');

/** @typedef {import('./compose/engine.mjs').Engine} Engine */
/** @typedef {import('./compose/base-images.mjs').ImageSources} ImageSources */

/** @param {NodeJS.ProcessEnv} env @param {string[]} args @param {AbortSignal} [signal] */
const docker = (env, args, signal) => run('docker', args, { cwd: repository, env, limitMs: buildLimitMs, signal });

/** @param {ImageSources} images */
function explain({ standIns, missing }) {
  if (standIns.length === 0) return say(`Images: ${baseImages().join(', ')}.`);
  say(`Images: stand-ins from Debian packages for ${standIns.join(', ')}.`);
  if (missing.length > 0) say(`Not tested, as there is no stand-in: ${missing.join(', ')}.`);
}

/** @param {Engine} engine @param {ImageSources} images */
function pluginFor(engine, { standIns }) {
  const image = standIns.find((name) => name.startsWith('rabbitmq:'));
  return image === undefined ? undefined : servePlugin(engine, image);
}

/** @param {Engine} engine @param {NodeJS.ProcessEnv} env */
async function tidy(engine, env) {
  const everything = ['--volumes', '--remove-orphans', '--rmi', 'local'];
  await docker(env, ['compose', '--profile', '*', 'down', ...everything]);
  if (!engine.isOwn) return;
  // The base images and the layers of npm ci make the next run short.
  await docker(env, ['image', 'prune', '--force']);
  await docker(env, ['builder', 'prune', '--force', '--keep-storage', '4GB']);
}

/** @param {NodeJS.ProcessEnv} env @param {string[]} args @param {AbortSignal} signal */
function runJest(env, args, signal) {
  const jest = join(repository, 'node_modules', 'jest', 'bin', 'jest.js');
  const options = { cwd: repository, env, owns: /** @type {const} */ ('process'), limitMs: jestLimitMs, signal };
  return runInForeground(process.execPath, [jest, '--config', config, ...args], options);
}

/** @param {Engine} engine @param {string[]} args @param {AbortSignal} signal */
async function testOn(engine, args, signal) {
  const images = await showProgress('base images', (note) => obtainBaseImages(engine, { signal, note }));
  explain(images);
  const plugin = await pluginFor(engine, images);
  const files = [join(repository, 'docker-compose.yml'), ...(engine.isOwn ? [writeOverride(engine, plugin)] : [])];
  const env = environmentFor(engine, images, files);
  try {
    await showProgress('docker compose build', () =>
      docker(env, ['compose', '--profile', '*', 'build', '--quiet'], signal),
    );
    return await runJest(env, args, signal);
  } finally {
    plugin?.close();
    await showProgress('removing containers, volumes, and images', () => tidy(engine, env));
  }
}

/** @param {{ args: string[], signal: AbortSignal }} context */
export async function runCompose({ args, signal }) {
  const engine = await showProgress('Docker engine', (note) => ensureEngine({ signal, note }));
  try {
    return await testOn(engine, args, signal);
  } finally {
    if (engine.isOwn) await showProgress('stopping the engine', () => engine.stop());
  }
}

// npm run suite -- compose [ARGUMENTS OF JEST]: docker-compose.yml and docs/docker.md on a Docker engine.
import { join } from 'node:path';
import { writeJson } from '../../scripts/setup/files.mjs';
import { repository } from '../../scripts/setup/paths.mjs';
import { run, runInForeground } from '../../scripts/setup/processes.mjs';
import { say, showProgress } from '../../scripts/setup/progress.mjs';
import { baseImages, obtainBaseImages, servePlugin } from './base-images.mjs';
import { ensureEngine } from './engine.mjs';

const buildLimitMs = 20 * 60_000;
const jestLimitMs = 60 * 60_000;
const config = join('test', 'compose', 'jest.config.js');

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('./base-images.mjs').ImageSources} ImageSources */

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

// What docker compose and the specs are told.
const builders = ['service', 'service-plain', 'service-cluster', 'rabbitmq', 'rabbitmq-plain'];
const nodes = ['rabbitmq-1', 'rabbitmq-2', 'rabbitmq-3'];
const published = ['SERVICE', 'POSTGRES', 'PROMETHEUS', 'GRAFANA', 'JAEGER', 'OTLP'];
const brokers = ['RABBITMQ', 'RABBITMQ_PLAIN', 'RABBITMQ_CLUSTER'];

/** The name of everything that the specs make. */
export const project = 'order-timeout-test';

/**
 * For builds on an engine of our own: they use the network of this machine, as its bridges lead nowhere.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {{ url: string, sha256: string } | undefined} plugin  undefined: the genuine one
 * @returns {string} path of a Compose file to put on top of docker-compose.yml
 */
export function writeOverride({ folder }, plugin) {
  const path = join(folder, 'override.json');
  const args = plugin && { PLUGIN_URL: plugin.url, PLUGIN_SHA256: plugin.sha256 };
  const build = (/** @type {string} */ name) => ({ network: 'host', ...(name === 'rabbitmq' && args && { args }) });
  const services = [...builders, ...nodes].map((name) => /** @type {const} */ ([name, { build: build(name) }]));
  writeJson(path, { services: Object.fromEntries(services) });
  return path;
}

/**
 * Ports that the engine chooses, and nothing from the .env of this clone.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {import('./base-images.mjs').ImageSources} images
 * @param {string[]} files  Compose files
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentFor({ env }, { missing }, files) {
  const names = [...published, ...brokers.flatMap((name) => [name, `${name}_MANAGEMENT`])];
  return {
    ...env,
    ...Object.fromEntries(names.map((name) => [`OT_${name}_PORT`, '0'])),
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_FILE: files.join(':'),
    COMPOSE_DISABLE_ENV_FILE: '1',
    OT_MISSING_IMAGES: missing.join(','),
  };
}

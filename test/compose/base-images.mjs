// The images that docker-compose.yml and the Dockerfiles start from: pulled, or made here where none can be pulled.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { npm } from '../../scripts/setup/build.mjs';
import { SetupError } from '../../scripts/setup/errors.mjs';
import { repository, stackFolder } from '../../scripts/setup/paths.mjs';
import { run } from '../../scripts/setup/processes.mjs';
import { findMirror } from '../brokers/series.mjs';
import { installCompose } from './engine.mjs';

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
 * @param {import('../../scripts/setup/progress.mjs').StepOptions} options
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

// Images from Debian's packages and Node.js from npm, under the names of those that docker-compose.yml asks for. For an
// engine of our own only: they carry the certificates of this machine, and are older than what they stand for.
const limitMs = 15 * 60_000;
const base = 'ot-base:stand-in';
const suite = 'trixie';
const packages = ['rabbitmq-server', 'postgresql-17', 'prometheus', 'ca-certificates', 'gosu', 'docker-compose'];
const sources = join(repository, 'test', 'compose', 'images');
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('../../scripts/setup/progress.mjs').StepOptions} StepOptions */

/** What an image is made of, by the name of its repository. */
export const standIns = /** @type {const} */ ({
  node: 'node',
  rabbitmq: 'rabbitmq',
  postgres: 'postgres',
  'prom/prometheus': 'prometheus',
});

/** @param {Engine} engine @param {string} image @returns {Promise<boolean>} */
export const hasImage = ({ env }, image) =>
  run('docker', ['image', 'inspect', image], { env, limitMs }).then(
    () => true,
    () => false,
  );

/** @param {Engine} engine @param {StepOptions} options */
export async function makeBaseImage(engine, { signal, note }) {
  if (await hasImage(engine, base)) return;
  const { env, folder } = engine;
  const root = join(folder, 'base');
  rmSync(root, { recursive: true, force: true });
  note?.(`debootstrap ${suite}`);
  const logFile = join(stackFolder('log'), 'debootstrap.log');
  const args = ['--variant=minbase', `--include=${packages.join(',')}`, suite, root, await findMirror(signal)];
  await run('debootstrap', args, { env, limitMs, signal, logFile });
  installCompose(engine, root);
  note?.('importing the base image');
  const leftOut = ['./proc/*', './sys/*', './dev/*', './var/cache/apt/archives/*.deb'].map(
    (path) => `--exclude=${path}`,
  );
  const command = `tar -C "$1" ${leftOut.join(' ')} -c . | docker import - ${base}`;
  await run('bash', ['-o', 'pipefail', '-c', command, 'import', root], { env, limitMs, signal, what: 'docker import' });
  rmSync(root, { recursive: true, force: true });
}

/**
 * @param {Engine} engine
 * @param {string} image  with a repository of `standIns`
 * @param {StepOptions} options
 */
export async function makeStandIn(engine, image, { signal, note }) {
  if (await hasImage(engine, image)) return;
  note?.(`building ${image}`);
  const name = standIns[/** @type {keyof typeof standIns} */ (image.split(':')[0])];
  const context = join(engine.folder, 'contexts', name);
  rmSync(context, { recursive: true, force: true });
  cpSync(join(sources, name), context, { recursive: true });
  if (name === 'node') await addNode(context, image, signal);
  if (name === 'rabbitmq') addDelayedExchange(context);
  await run('docker', ['build', '--network', 'none', '--tag', image, context], { env: engine.env, limitMs, signal });
  rmSync(context, { recursive: true, force: true });
}

/** @param {string} context */
function addDelayedExchange(context) {
  const source = join(repository, 'test', 'support', 'delayed-exchange-stand-in', 'src');
  cpSync(source, join(context, 'delayed-exchange'), { recursive: true });
}

/** The program from the package that npm has of it. @param {string} context @param {string} image @param {AbortSignal | undefined} signal */
async function addNode(context, image, signal) {
  const major = /:(\d+)/.exec(image)?.[1] ?? '22';
  const npmMajor = major === '20' || major === '22' ? 10 : 11;
  const packed = join(context, 'packed');
  mkdirSync(packed);
  await run(...npm(['pack', `node-linux-${process.arch}@${major}`, `npm@${npmMajor}`]), {
    cwd: packed,
    limitMs,
    signal,
  });
  for (const file of readdirSync(packed)) {
    const target = join(packed, file.startsWith('npm-') ? 'npm' : 'node');
    mkdirSync(target);
    await run('tar', ['-xzf', join(packed, file), '-C', target, '--strip-components=1'], { limitMs, signal });
  }
  cpSync(join(packed, 'node', 'bin', 'node'), join(context, 'node'));
  cpSync(join(packed, 'npm'), join(context, 'npm'), { recursive: true });
  rmSync(packed, { recursive: true, force: true });
  if (existsSync(certificates)) cpSync(certificates, join(context, 'ca-certificates.crt'), { dereference: true });
}

// The stand-in of the delayed-message plugin, for the build of rabbit/Dockerfile where the genuine one cannot be downloaded.
const pluginLimitMs = 60_000;

/**
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} image  the stand-in of RabbitMQ, which holds the file
 * @returns {Promise<{ url: string, sha256: string, close: () => void }>}
 */
export async function servePlugin({ env, folder }, image) {
  const path = join(folder, 'plugin', 'plugin.ez');
  mkdirSync(join(folder, 'plugin'), { recursive: true });
  const id = (await run('docker', ['create', image], { env, limitMs: pluginLimitMs })).trim();
  await run('docker', ['cp', `${id}:/stand-in/plugin.ez`, path], { env, limitMs: pluginLimitMs });
  await run('docker', ['rm', '--volumes', id], { env, limitMs: pluginLimitMs });
  const file = readFileSync(path);
  const server = createServer((_, response) => response.end(file)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const sha256 = createHash('sha256').update(file).digest('hex');
  return { url: `http://127.0.0.1:${port}/plugin.ez`, sha256, close: () => void server.close() };
}

// Images from Debian's packages and Node.js from npm, under the names of those that docker-compose.yml asks for. For an
// engine of our own only: they carry the certificates of this machine, and are older than what they stand for.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findMirror } from '../brokers/suite-packages.mjs';
import { npm } from '../setup/npm.mjs';
import { repository, stackFolder } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';
import { installCompose } from './engine.mjs';

const limitMs = 15 * 60_000;
const base = 'ot-base:stand-in';
const suite = 'trixie';
const packages = ['rabbitmq-server', 'postgresql-17', 'prometheus', 'ca-certificates', 'gosu', 'docker-compose'];
const sources = join(repository, 'scripts', 'compose', 'images');
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('../setup/progress.mjs').StepOptions} StepOptions */

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

// A Docker engine: the one that answers, else one of our own on a socket and a data folder of its own.
import { once } from 'node:events';
import { closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SetupError } from '../../scripts/setup/errors.mjs';
import { openFolder, stackFolder } from '../../scripts/setup/paths.mjs';
import { run, spawnWithLifeline, waitUntil } from '../../scripts/setup/processes.mjs';
import { newPackages, unpackPackages } from '../../scripts/stack/debian-packages.mjs';
import { hasDockerEngine } from '../../scripts/stack/servers.mjs';

const startLimitMs = 60_000;
const stopLimitMs = 60_000;

/**
 * @typedef {object} Engine
 * @property {NodeJS.ProcessEnv} env  for the programs that use it
 * @property {boolean} isOwn          made here, so that its images are nobody else's
 * @property {string} folder          for files that go with it
 * @property {() => Promise<void>} stop
 */

/**
 * @param {import('../../scripts/setup/progress.mjs').StepOptions} options
 * @returns {Promise<Engine>}
 */
export async function ensureEngine(options) {
  const folder = openFolder(join(stackFolder('docker')));
  if (hasDockerEngine()) return { env: process.env, isOwn: false, folder, stop: () => Promise.resolve() };
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new SetupError('NO_DOCKER', 'no Docker engine with compose answers, and only root on Linux can start one', {
      remedy: 'start Docker; `docker info` and `docker compose version` must both succeed',
    });
  }
  return startEngine(folder, options);
}

/** @param {string} folder @param {import('../../scripts/setup/progress.mjs').StepOptions} options @returns {Promise<Engine>} */
async function startEngine(folder, { signal, note }) {
  const tools = await obtainTools(folder, { signal, note });
  await assertForwarding(tools);
  note?.('starting dockerd');
  // Sockets have short paths only.
  const place = mkdtempSync(join(tmpdir(), 'ot-docker-'));
  const env = { ...tools, DOCKER_HOST: `unix://${place}/docker.sock`, DOCKER_CONFIG: join(folder, 'config') };
  const child = startDaemon(place, folder, env);
  const stop = () => stopDaemon(child, place);
  try {
    await waitForAnswer(child, env, signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { env, isOwn: true, folder, stop };
}

/** An engine that has run here leaves a rule that keeps our containers from each other. @param {NodeJS.ProcessEnv} env */
async function assertForwarding(env) {
  const rules = await run('iptables', ['-S', 'FORWARD'], { env, limitMs: 10_000 });
  if (!rules.includes('-P FORWARD DROP')) return;
  throw new SetupError('NO_FORWARDING', 'iptables drops what containers send each other (-P FORWARD DROP)', {
    remedy: 'start the Docker engine of this machine, or run: iptables -P FORWARD ACCEPT',
  });
}

/** @param {string} place @param {string} folder @param {NodeJS.ProcessEnv} env */
function startDaemon(place, folder, env) {
  const log = openSync(join(stackFolder('log'), 'dockerd.log'), 'w');
  const args = ['--host', env.DOCKER_HOST ?? '', '--data-root', join(folder, 'data')];
  args.push('--exec-root', join(place, 'exec'), '--pidfile', join(place, 'dockerd.pid'));
  // It leaves no bridge, no rules, and no setting on the machine. Published ports go through its proxies.
  args.push('--bridge=none', '--iptables=false', '--ip-forward=false');
  const child = spawnWithLifeline('dockerd', args, { env, owns: 'process', stdio: ['ignore', log, log] });
  closeSync(log);
  return child;
}

/** @param {import('node:child_process').ChildProcess} child @param {NodeJS.ProcessEnv} env @param {AbortSignal | undefined} signal */
async function waitForAnswer(child, env, signal) {
  const answers = () =>
    run('docker', ['info'], { env, limitMs: 10_000 }).then(
      () => true,
      () => false,
    );
  const isUp = await waitUntil(() => child.exitCode !== null || answers(), { limitMs: startLimitMs, signal });
  if (isUp && child.exitCode === null) return;
  throw new SetupError('NO_DOCKER', 'the Docker engine that was started does not answer', {
    logFile: join(stackFolder('log'), 'dockerd.log'),
    remedy: 'read the log; dockerd needs root, overlayfs, cgroups, and iptables. Or start an engine of your own',
  });
}

/** By its process, as others may run engines here too. @param {import('node:child_process').ChildProcess} child @param {string} place */
async function stopDaemon(child, place) {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
    await exited;
    clearTimeout(timer);
  }
  rmSync(place, { recursive: true, force: true });
}

/** The plugin of the command line comes out of the base image. @param {Engine} engine @param {string} root */
export function installCompose({ env }, root) {
  const plugins = join(env.DOCKER_CONFIG ?? '', 'cli-plugins');
  if (existsSync(join(plugins, 'docker-compose'))) return;
  mkdirSync(plugins, { recursive: true });
  copyFileSync(join(root, 'usr/libexec/docker/cli-plugins/docker-compose'), join(plugins, 'docker-compose'));
}

// The programs of a Docker engine, and debootstrap for base images: Debian's packages, unpacked and not installed.
const packages = ['docker.io', 'iptables', 'debootstrap'];
const programs = ['docker', 'dockerd', 'iptables', 'debootstrap'];
const programFolders = ['usr/local/sbin', 'usr/local/bin', 'usr/sbin', 'usr/bin', 'sbin', 'bin'];
const libraryFolders = ['usr/lib', 'lib'].flatMap((lib) => [`${lib}/x86_64-linux-gnu`, `${lib}/aarch64-linux-gnu`]);

const inside = (/** @type {string} */ root, /** @type {string[]} */ folders) =>
  folders.map((folder) => join(root, folder)).filter((path) => existsSync(path));
const isInstalled = (/** @type {string} */ program) =>
  inside('/', programFolders).some((folder) => existsSync(join(folder, program)));

/**
 * @param {string} folder  where they are unpacked, if the machine lacks one
 * @param {import('../../scripts/setup/progress.mjs').StepOptions} options
 * @returns {Promise<NodeJS.ProcessEnv>} an environment that has them
 */
export async function obtainTools(folder, options) {
  const root = join(folder, 'tools');
  if (!existsSync(root) && !programs.every(isInstalled)) await download(root, options);
  const libraries = inside(root, libraryFolders);
  const [extensions] = libraries.map((path) => join(path, 'xtables')).filter((path) => existsSync(path));
  const [scripts] = inside(root, ['usr/share/debootstrap']);
  return {
    ...process.env,
    // What is installed comes first: it fits the machine's libraries.
    PATH: [process.env.PATH, ...inside('/', programFolders), ...inside(root, programFolders)].join(':'),
    ...(libraries.length > 0 && { LD_LIBRARY_PATH: libraries.join(':') }),
    ...(extensions && { XTABLES_LIBDIR: extensions }),
    ...(scripts && { DEBOOTSTRAP_DIR: scripts }),
  };
}

/** @param {string} target @param {import('../../scripts/setup/progress.mjs').StepOptions} options */
async function download(target, { signal, note }) {
  try {
    await unpackPackages({ target, shared: false, log: 'docker-download', resolve, relocate, signal, note });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new SetupError('NO_DOCKER', 'no Docker engine answers, and apt has none', {
      remedy: 'start a Docker engine with compose, or run this on Debian 12 or later',
      cause,
    });
  }
}

/** What they need and the machine lacks. @param {(args: string[]) => Promise<string>} apt */
async function resolve(apt) {
  return newPackages(await apt(['--simulate', 'install', '--no-install-recommends', ...packages]));
}

/** What Debian links when it installs the packages. @param {string} unpacked */
function relocate(unpacked) {
  const folder = join(unpacked, 'usr', 'sbin');
  if (!existsSync(join(folder, 'xtables-nft-multi'))) return;
  for (const name of ['iptables', 'ip6tables']) symlinkSync('xtables-nft-multi', join(folder, name));
}

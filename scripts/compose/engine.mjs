// A Docker engine: the one that answers, else one of our own on a socket and a data folder of its own.
import { closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolder, stackFolder } from '../setup/paths.mjs';
import { run, spawnWithLifeline } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { waitUntil } from '../setup/wait.mjs';
import { hasDockerEngine } from '../stack/choose-source.mjs';
import { obtainTools } from './tools.mjs';

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
 * @param {import('../setup/progress.mjs').StepOptions} options
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

/** @param {string} folder @param {import('../setup/progress.mjs').StepOptions} options @returns {Promise<Engine>} */
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

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { noteWhileWaiting } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';
import { logTailOf, SetupError } from '../setup/setup-error.mjs';
import { newPackages, privateApt } from '../stack/debian-packages.mjs';

const limitMs = 3 * 60_000;

/** @param {string} binary whether it starts on this machine */
const isUsable = (binary) => existsSync(binary) && spawnSync(binary, ['--version']).status === 0;

/**
 * The installed redis-server, else Debian's, unpacked below `home`, downloaded the first time.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string }} options
 * @returns {Promise<string>} path of a program that takes the arguments of redis-server
 */
export async function obtainRedis({ home, signal, note }) {
  const target = join(home, 'redis');
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', target];
  const find = () => folders.map((folder) => join(folder, 'redis-server')).find(isUsable);
  const found = find();
  if (found) return found;
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock('redis-download', { limitMs, signal, whileWaiting }, async () => {
    if (!find()) await download({ target, signal, note });
    return find() ?? fail();
  });
}

/** @param {import('../setup/progress.mjs').StepOptions & { target: string }} options */
async function download({ target, signal, note }) {
  const work = `${target}.download`;
  for (const path of [work, target]) rmSync(path, { recursive: true, force: true });
  try {
    const unpacked = join(work, 'root');
    for (const path of await fetchPackages({ work, signal, note }))
      await run('dpkg', ['-x', path, unpacked], { limitMs });
    writeFileSync(join(unpacked, 'redis-server'), startScript(target, unpacked));
    chmodSync(join(unpacked, 'redis-server'), 0o755);
    // A strict umask would lock out the user that the servers run as.
    await run('chmod', ['-R', 'a+rX', unpacked], { limitMs });
    renameSync(unpacked, target);
  } catch (error) {
    if (signal?.aborted) throw error;
    fail(error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {import('../setup/progress.mjs').StepOptions & { work: string }} options
 * @returns {Promise<string[]>} paths of .deb files: the server and the libraries that the machine lacks
 */
async function fetchPackages({ work, signal, note }) {
  const env = privateApt(work);
  const folder = join(work, 'packages');
  const logFile = join(stackFolder('log'), 'redis-download.log');
  const apt = (/** @type {string[]} */ ...args) => run('apt-get', args, { cwd: folder, env, limitMs, signal, logFile });
  note?.('reading the lists of packages');
  await apt('update');
  const all = newPackages(await apt('--simulate', 'install', '--no-install-recommends', 'redis-server'));
  const names = all.filter((name) => /^(redis-|lib)/.test(name));
  note?.(`downloading ${names.length} packages`);
  await apt('download', ...names);
  const files = readdirSync(folder).filter((name) => name.endsWith('.deb'));
  return files.map((name) => join(folder, name));
}

/** What came along is not where the dynamic loader looks. @param {string} target @param {string} unpacked */
function startScript(target, unpacked) {
  const parents = ['usr/lib', 'lib'].filter((parent) => existsSync(join(unpacked, parent)));
  const folders = parents.flatMap((parent) =>
    readdirSync(join(unpacked, parent))
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(target, parent, name)),
  );
  const call = `LD_LIBRARY_PATH="${folders.join(':')}" exec "${join(target, 'usr/bin/redis-server')}" "$@"`;
  return `#!/bin/sh\n${call}\n`;
}

/** @param {unknown} [cause] @returns {never} */
function fail(cause) {
  throw new SetupError('NO_REDIS', 'Redis is neither installed nor to be had from apt', {
    remedy: 'install Redis (apt-get install redis-server), or measure without the peers',
    logTail: logTailOf(cause),
    cause,
  });
}

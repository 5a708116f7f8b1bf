import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { newPackages, unpackPackages } from '../../scripts/stack/debian-packages.mjs';
import { obtainOnce } from '../../scripts/stack/obtain-once.mjs';
import { findLibraryFolders } from '../../scripts/stack/rabbitmq-installation.mjs';

const missing = {
  code: 'NO_REDIS',
  message: 'Redis is neither installed nor to be had from apt',
  remedy: 'install Redis (apt-get install redis-server), or measure without the peers',
};

/** @param {string} binary whether it starts on this machine */
const isUsable = (binary) => existsSync(binary) && spawnSync(binary, ['--version']).status === 0;

/**
 * The installed redis-server, else Debian's, unpacked below `home`, downloaded the first time.
 *
 * @param {import('../../scripts/setup/progress.mjs').StepOptions & { home: string }} options
 * @returns {Promise<string>} path of a program that takes the arguments of redis-server
 */
export function obtainRedis({ home, ...options }) {
  const target = join(home, 'redis');
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', target];
  const relocate = (/** @type {string} */ unpacked) => writeStartScript(target, unpacked);
  return obtainOnce({
    ...{ ...options, name: 'redis', limitMs: 6 * 60_000, missing },
    find: () => folders.map((folder) => join(folder, 'redis-server')).find(isUsable),
    // A strict umask would lock out the user that the servers run as.
    download: () =>
      unpackPackages({ ...options, target, shared: true, log: 'redis-download', resolve: resolvePackages, relocate }),
  });
}

/** The server and the libraries that the machine lacks. @param {(args: string[]) => Promise<string>} apt */
async function resolvePackages(apt) {
  const all = newPackages(await apt(['--simulate', 'install', '--no-install-recommends', 'redis-server']));
  return all.filter((name) => /^(redis-|lib)/.test(name));
}

/** What came along is not where the dynamic loader looks. @param {string} target @param {string} unpacked */
function writeStartScript(target, unpacked) {
  const folders = findLibraryFolders(unpacked).map((folder) => folder.replace(unpacked, target));
  const call = `LD_LIBRARY_PATH="${folders.join(':')}" exec "${join(target, 'usr/bin/redis-server')}" "$@"`;
  writeFileSync(join(unpacked, 'redis-server'), `#!/bin/sh\n${call}\n`, { mode: 0o755 });
}

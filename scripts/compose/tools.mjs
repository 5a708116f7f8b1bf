// The programs of a Docker engine, and debootstrap for base images: Debian's packages, unpacked and not installed.
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../setup/setup-error.mjs';
import { newPackages, unpackPackages } from '../stack/debian-packages.mjs';

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
 * @param {import('../setup/progress.mjs').StepOptions} options
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

/** @param {string} target @param {import('../setup/progress.mjs').StepOptions} options */
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

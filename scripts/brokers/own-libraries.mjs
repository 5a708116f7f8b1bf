// Programs of a younger Debian on an older one, without a chroot and so without root: each is started by the
// dynamic loader that came with it, which finds the C library that came with it.
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../setup/setup-error.mjs';

const namesIn = (/** @type {string} */ folder) => (existsSync(folder) ? readdirSync(folder) : []);

/** @param {string} unpacked @returns {string} path of the loader, relative to the folder */
function findLoader(unpacked) {
  const folders = ['usr/lib64', 'lib64', 'usr/lib', 'lib'];
  for (const folder of folders) {
    const name = namesIn(join(unpacked, folder)).find((entry) => /^ld-linux-.+\.so\.\d$/.test(entry));
    if (name) return join(folder, name);
  }
  throw new SetupError('NO_LOADER', `${unpacked} holds no dynamic loader: the packages of this suite lie elsewhere`);
}

/** @param {string} unpacked @returns {string[]} relative to the folder */
const libraryFolders = (unpacked) =>
  ['usr/lib', 'lib'].flatMap((parent) =>
    namesIn(join(unpacked, parent))
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(parent, name)),
  );

/** @param {string} path whether it is a program of the machine, and neither a script nor a shared library */
function isProgram(path) {
  const stat = lstatSync(path);
  if (!stat.isFile() || (stat.mode & 0o100) === 0 || /\.so(\.|$)/.test(path)) return false;
  const start = Buffer.alloc(4);
  const file = openSync(path, 'r');
  readSync(file, start, 0, 4, 0);
  closeSync(file);
  return start.toString('latin1') === '\x7fELF';
}

/**
 * Puts a script in the place of each program of Erlang.
 *
 * @param {string} unpacked  where the packages lie now
 * @param {string} target    where they will lie when they are used
 */
export function bindToOwnLibraries(unpacked, target) {
  const loader = join(target, findLoader(unpacked));
  const libraries = libraryFolders(unpacked).map((folder) => join(target, folder));
  const erlang = join('usr', 'lib', 'erlang');
  const entries = readdirSync(join(unpacked, erlang), { recursive: true, encoding: 'utf8' });
  for (const path of entries.map((entry) => join(erlang, entry)).filter((entry) => isProgram(join(unpacked, entry)))) {
    const real = `${path}.elf`;
    renameSync(join(unpacked, path), join(unpacked, real));
    // Under its own name: escript and erlc look for Erlang beside the path they were called by.
    const call = `exec ${loader} --library-path ${libraries.join(':')} --argv0 "$0" ${join(target, real)} "$@"`;
    writeFileSync(join(unpacked, path), `#!/bin/sh\n${call}\n`);
    chmodSync(join(unpacked, path), 0o755);
  }
}

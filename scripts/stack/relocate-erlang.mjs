import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * Debian's scripts of Erlang know one place, /usr/lib/erlang, and there are several of them, with several mentions each.
 * Unpacked elsewhere, they find Erlang from where they lie themselves: a folder that is moved or copied keeps working.
 *
 * @param {string} root  where the packages were unpacked; may have been relocated before, in any way
 */
export function relocateErlang(root) {
  const erlang = join(root, 'usr/lib/erlang');
  for (const path of scriptsOf(erlang)) {
    const text = readFileSync(path, 'latin1');
    const relocated = relocateScript(text, relative(join(path, '..'), erlang));
    if (relocated !== text) writeFileSync(path, relocated, 'latin1');
  }
}

/** @param {string} erlang @returns {string[]} */
function scriptsOf(erlang) {
  if (!existsSync(erlang)) return [];
  const versions = readdirSync(erlang).filter((name) => name.startsWith('erts-'));
  const folders = ['bin', ...versions.map((name) => join(name, 'bin'))].map((name) => join(erlang, name));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true }).filter((file) => file.isFile()),
  );
  return files.map((file) => join(file.parentPath, file.name)).filter(isScript);
}

/** @param {string} path */
const isScript = (path) => readFileSync(path).subarray(0, 2).toString() === '#!';

/**
 * @param {string} text     of a shell script
 * @param {string} upwards  from its folder to that of Erlang
 */
export function relocateScript(text, upwards) {
  const here = `$(cd "$(dirname "$(readlink -f "$0")")/${upwards}" && pwd)`;
  // A replacement text would take "$(" for a group.
  return text.replaceAll(/(["=\s])(?:\/[\w./+-]*)?\/usr\/lib\/erlang\b/g, (_, before) => `${before}${here}`);
}

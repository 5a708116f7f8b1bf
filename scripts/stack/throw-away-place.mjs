import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openFolder } from '../setup/paths.mjs';
import { isAlive } from '../setup/process-identity.mjs';
import { reserveFreeBlock } from './ports.mjs';
import { isPlainPath, makeServerFolder, serverHome } from './server-user.mjs';
import { messageOf, SetupError } from '../setup/setup-error.mjs';

/**
 * Folder, ports and user of a throw-away server.
 *
 * @param {string | undefined} wanted  a folder; without it one is made, and removed at the end
 * @returns {Promise<{ home: string, user: import('./server-user.mjs').ServerUser | undefined, directory: string, basePort: number }>}
 */
export async function throwAwayPlace(wanted) {
  const { home, user } = serverHome();
  const directory = wanted ? resolve(wanted) : temporaryFolder(home);
  if (!isPlainPath(directory)) {
    throw new SetupError('BAD_DIRECTORY', `${directory}: only plain letters, digits and ._+-/ in the path`, {
      remedy: 'name another --directory',
    });
  }
  makeServerFolder(directory, user);
  return { home, user, directory, basePort: await reserveFreeBlock(directory) };
}

/** @param {string} home */
function temporaryFolder(home) {
  const parent = openFolder(join(home, 'throw-away'));
  removeAbandoned(parent);
  const directory = mkdtempSync(join(parent, `${process.pid}-`));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));
  return directory;
}

/** What a killed one could not remove. @param {string} parent */
function removeAbandoned(parent) {
  const abandoned = readdirSync(parent).filter((name) => !isAlive({ pid: Number.parseInt(name, 10), startTime: '' }));
  for (const name of abandoned) rmSync(join(parent, name), { recursive: true, force: true });
}

/**
 * @param {string[]} args
 * @param {string[]} names  of options that take a value
 * @returns {Record<string, string | undefined>}
 */
export function readOptions(args, names) {
  const options = Object.fromEntries(names.map((name) => [name, { type: /** @type {const} */ ('string') }]));
  try {
    return parseArgs({ args, options }).values;
  } catch (cause) {
    const remedy = `options: ${names.map((name) => `--${name}`).join(' ')}`;
    throw new SetupError('USAGE', messageOf(cause), { remedy, cause });
  }
}

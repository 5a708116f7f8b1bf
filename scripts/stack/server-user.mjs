import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, lstatSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolder, repository, stackFolder } from '../setup/paths.mjs';
import { SetupError } from '../setup/setup-error.mjs';

/** @typedef {{ uid: number, gid: number }} ServerUser */

// "nobody": PostgreSQL refuses to run as root, and a broker has no business to.
const nobody = 65_534;

/**
 * Root hands the servers to the owner of the clone, so that the owner can delete what they leave; a clone that
 * is root's own gets nobody.
 *
 * @param {{ uid: number | undefined, ownerUid: number, ownerGid: number }} facts
 * @returns {ServerUser | undefined} undefined: as the user who runs this
 */
export function chooseServerUser({ uid, ownerUid, ownerGid }) {
  if (uid !== 0) return undefined;
  return ownerUid === 0 ? { uid: nobody, gid: nobody } : { uid: ownerUid, gid: ownerGid };
}

/** @returns {ServerUser | undefined} */
export function serverUser() {
  const owner = statSync(repository);
  return chooseServerUser({ uid: process.getuid?.(), ownerUid: owner.uid, ownerGid: owner.gid });
}

/**
 * The scripts of Erlang and RabbitMQ do not quote their paths. Private brokers are made on Linux only.
 *
 * @param {string} path
 */
export const isPlainPath = (path) => /^[\w./+-]+$/.test(path) && path.length <= 120;

/**
 * @param {string} path
 * @param {ServerUser | undefined} user
 * @returns {string | undefined} why servers cannot live there
 */
function obstacle(path, user) {
  if (process.platform === 'linux' && !isPlainPath(path))
    return "its path is not of plain letters, which RabbitMQ's scripts need";
  const probe = join(path, '.reachable');
  writeFileSync(probe, '');
  chmodSync(probe, 0o644);
  if (!user || spawnSync('test', ['-r', probe], { cwd: '/', ...user }).status === 0) return undefined;
  return `user ${user.uid}, who runs the servers, has no way into it`;
}

/**
 * Where binaries and data of the servers lie: below the clone, or, where that cannot be (a clone below /root,
 * say), in a folder of the machine's temporary ones.
 *
 * @returns {{ home: string, user: ServerUser | undefined, movedBecause?: string }}
 */
export function serverHome() {
  const user = serverUser();
  const usual = stackFolder('home');
  const movedBecause = obstacle(usual, user);
  if (!movedBecause) return { home: usual, user };
  const id = createHash('sha256').update(repository).digest('hex').slice(0, 12);
  for (const parent of ['/var/tmp', tmpdir()]) {
    const home = ownFolder(join(parent, `nestjs-order-timeout-${process.getuid?.() ?? 0}-${id}`));
    if (!obstacle(home, user)) return { home, user, movedBecause };
  }
  throw new SetupError('NO_PLACE', `the servers cannot live in ${usual} (${movedBecause}), /var/tmp or ${tmpdir()}`, {
    remedy: 'move the clone to a folder that every user can walk through, with a path of plain letters',
  });
}

/** In a folder that everybody writes to, a stranger may have made this name first. @param {string} path */
function ownFolder(path) {
  openFolder(path);
  const found = lstatSync(path);
  if (found.isDirectory() && found.uid === process.getuid?.()) return path;
  throw new SetupError('FOREIGN_FOLDER', `${path} belongs to somebody else`, { remedy: `remove ${path}` });
}

/**
 * @param {string} path
 * @param {ServerUser | undefined} user  its owner, only one who may look inside
 */
export function makeServerFolder(path, user) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (user) chownSync(path, user.uid, user.gid);
  return path;
}

/**
 * @param {string} path
 * @param {string} text
 * @param {ServerUser | undefined} user
 */
export function writeServerFile(path, text, user) {
  writeFileSync(path, text, { mode: 0o600 });
  if (user) chownSync(path, user.uid, user.gid);
}

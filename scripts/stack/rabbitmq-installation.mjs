import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/**
 * @typedef {object} RabbitmqInstallation
 * @property {string} rabbitHome  holds sbin/ and plugins/
 * @property {string} erlangBin   holds erl and erlc
 * @property {string} version
 * @property {string[]} pluginFolders
 * @property {string[]} libraryFolders  where shared libraries came along with it
 */

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const namesIn = (/** @type {string} */ folder) => (existsSync(folder) ? readdirSync(folder) : []);
const newestFirst = (/** @type {string} */ a, /** @type {string} */ b) => b.localeCompare(a, 'en', { numeric: true });

/** @param {string} root @returns {string | undefined} */
function findRabbitHome(root) {
  const library = join(root, 'usr/lib/rabbitmq/lib');
  const homes = namesIn(library).filter((name) => name.startsWith('rabbitmq_server-'));
  const paths = homes.sort(newestFirst).map((name) => join(library, name));
  return paths.find((path) => isExecutable(join(path, 'sbin/rabbitmq-server')));
}

/**
 * Where Erlang is looked for, in order. A given RabbitMQ finds its Erlang in PATH; the
 * system's may be of a series that the given one does not start on.
 * @param {string} root @param {{ isGiven: boolean, path?: string | undefined }} options @returns {string[]}
 */
export function erlangFolders(root, { isGiven, path = '' }) {
  const ofSystem = join(root, 'usr/lib/erlang/bin');
  const inPath = root === '/' ? path.split(delimiter).filter((folder) => folder !== '') : [];
  return isGiven ? [...inPath, ofSystem] : [ofSystem, ...inPath];
}

/** @param {string} root */
export function findLibraryFolders(root) {
  if (root === '/') return [];
  const parents = [join(root, 'usr/lib'), join(root, 'lib')];
  return parents.flatMap((parent) =>
    namesIn(parent)
      .filter((n) => n.includes('-linux-'))
      .map((n) => join(parent, n)),
  );
}

/** RABBITMQ_PLUGINS_DIR is RabbitMQ's own name for "further plugins are here". @param {string} root @param {string} rabbitHome */
function pluginFoldersOf(root, rabbitHome) {
  const folders = [
    join(rabbitHome, 'plugins'),
    join(root, 'usr/lib/rabbitmq/plugins'),
    ...(process.env.RABBITMQ_PLUGINS_DIR ?? '').split(delimiter),
  ];
  return [...new Set(folders)].filter((folder) => folder && existsSync(folder));
}

/**
 * @param {string} root  '/' for what is installed, a folder for what was unpacked there
 * @returns {RabbitmqInstallation | undefined}
 */
export function findRabbitmq(root) {
  const given = root === '/' ? process.env.RABBITMQ_HOME : undefined;
  const isGiven = given !== undefined && isExecutable(join(given, 'sbin/rabbitmq-server'));
  const rabbitHome = isGiven ? given : findRabbitHome(root);
  const folders = erlangFolders(root, { isGiven, path: process.env.PATH });
  const erlangBin = folders.find((folder) => isExecutable(join(folder, 'erl')));
  if (!rabbitHome || !erlangBin) return undefined;
  return {
    rabbitHome,
    erlangBin,
    version: /rabbitmq_server-([\w.~+-]+)$/.exec(rabbitHome)?.[1] ?? 'unknown',
    pluginFolders: pluginFoldersOf(root, rabbitHome),
    libraryFolders: findLibraryFolders(root),
  };
}

/** @param {Pick<RabbitmqInstallation, 'erlangBin'>} installation @param {string} name */
export const binaryNextTo = ({ erlangBin }, name) => {
  const erts = namesIn(dirname(erlangBin)).filter((entry) => entry.startsWith('erts-'));
  const folders = [erlangBin, ...erts.map((entry) => join(dirname(erlangBin), entry, 'bin'))];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
};

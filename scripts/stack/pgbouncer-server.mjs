import { join } from 'node:path';
import { writeServerFile } from './server-user.mjs';

/**
 * A PgBouncer that pools by transaction, before the server of a URL. Each login of the URLs may use it.
 *
 * @param {object} options
 * @param {string} options.directory
 * @param {number} options.basePort
 * @param {string[]} options.urls  logins of one and the same server
 * @param {import('./pgbouncer-installation.mjs').PgbouncerInstallation} options.installation
 * @param {import('./server-user.mjs').ServerUser | undefined} [options.user]
 * @param {string} options.logFile
 * @returns {import('./supervisor.mjs').ServerSpec}
 */
export function pgbouncerServer({ directory, basePort, urls, installation, user, logFile }) {
  const { hostname, port } = new URL(urls[0] ?? '');
  const logins = urls.map((url) => new URL(url)).map((url) => `"${url.username}" "${url.password}"`);
  const [file, userFile] = [join(directory, 'pgbouncer.ini'), join(directory, 'users.txt')];
  writeServerFile(userFile, `${logins.join('\n')}\n`, user);
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${port || 5_432}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${basePort}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${userFile}`,
    'pool_mode = transaction',
    'default_pool_size = 10',
    'max_client_conn = 200',
  ];
  writeServerFile(file, `${settings.join('\n')}\n`, user);
  const { command, libraryFolders } = installation;
  const libraries = libraryFolders.join(':');
  return {
    name: 'pgbouncer',
    command,
    args: [file],
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', ...(libraries && { LD_LIBRARY_PATH: libraries }) },
    user,
    ports: [basePort],
    stopSignal: 'SIGTERM',
    stopLimitMs: 2_000,
    startLimitMs: 10_000,
    logFile,
    access: { address: `127.0.0.1:${basePort}` },
  };
}

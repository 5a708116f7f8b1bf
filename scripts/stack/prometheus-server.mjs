import { join } from 'node:path';
import { makeServerFolder, writeServerFile } from './server-user.mjs';

/**
 * @param {object} options
 * @param {string} options.directory
 * @param {number} options.basePort
 * @param {{ 'prometheus.yml': string } & Record<string, string>} options.files  texts of the configuration and of what it names, by name
 * @param {import('./prometheus-installation.mjs').PrometheusInstallation} options.installation
 * @param {import('./server-user.mjs').ServerUser | undefined} [options.user]
 * @returns {import('./supervisor.mjs').ServerSpec}
 */
export function prometheusServer({ directory, basePort, files, installation, user }) {
  const data = makeServerFolder(join(directory, 'data'), user);
  for (const [name, text] of Object.entries(files)) writeServerFile(join(directory, name), text, user);
  const address = `127.0.0.1:${basePort}`;
  return {
    name: 'prometheus',
    command: installation.prometheus,
    args: [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=${address}`,
    ],
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    user,
    ports: [basePort],
    stopSignal: 'SIGTERM',
    stopLimitMs: 5_000,
    startLimitMs: 30_000,
    logFile: join(directory, 'prometheus.log'),
    access: { url: `http://${address}` },
  };
}

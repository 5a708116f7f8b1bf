import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { unpackPackages } from './debian-packages.mjs';
import { obtainOnce } from './obtain-once.mjs';

/** @typedef {{ prometheus: string, promtool: string }} PrometheusInstallation  paths of the two programs */

const missing = {
  code: 'NO_PROMETHEUS',
  message: 'prometheus and promtool are neither in PATH nor to be had from apt',
  remedy: 'install Prometheus (apt-get install prometheus), or put both programs into PATH',
};

/** @param {string[]} folders @returns {PrometheusInstallation | undefined} from the first folder that has both */
export function findPrometheus(folders = (process.env.PATH ?? '').split(delimiter)) {
  const found = folders.map((folder) => ({
    prometheus: join(folder, 'prometheus'),
    promtool: join(folder, 'promtool'),
  }));
  return found.find(({ prometheus, promtool }) => existsSync(prometheus) && existsSync(promtool));
}

/**
 * The Prometheus in PATH, else Debian's, unpacked below `home` and downloaded the first time. Its programs need none of
 * the packages that its web pages depend on.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 * @returns {Promise<PrometheusInstallation>}
 */
export function obtainPrometheus({ home, ...options }) {
  const target = join(home, 'prometheus');
  const resolve = async () => ['prometheus'];
  return obtainOnce({
    ...{ ...options, name: 'prometheus', limitMs: 6 * 60_000, missing },
    find: () => findPrometheus() ?? findPrometheus([join(target, 'usr/bin')]),
    download: () => unpackPackages({ ...options, target, log: 'prometheus-download', resolve }),
  });
}

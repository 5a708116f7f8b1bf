import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from '../../../scripts/setup/build.mjs';
import { stackFolder } from '../../../scripts/setup/paths.mjs';
import { run } from '../../../scripts/setup/processes.mjs';
import { obtainOnce, unpackPackages } from '../../../scripts/stack/debian-packages.mjs';

/** Exact versions, by name. */
export const generatorPackages = {
  '@apiture/openapi-down-convert': '0.14.2',
  '@asyncapi/parser': '3.6.3',
  // The last release that has the generator in the package. Later ones download it from elsewhere.
  '@openapitools/openapi-generator-cli': '1.0.18-5.0.0-beta2',
  'openapi-fetch': '0.17.0',
  'openapi-typescript': '7.13.0',
  quicktype: '26.0.0',
  typescript: '5.9.3',
};

/** What Python's clients import, as Debian names it. */
export const pythonPackages = ['python3-certifi', 'python3-dateutil', 'python3-pika', 'python3-six', 'python3-urllib3'];

const limitMs = 8 * 60_000;
const key = createHash('sha256')
  .update(JSON.stringify([generatorPackages, pythonPackages]))
  .digest('hex')
  .slice(0, 12);

/**
 * The generators of clients in a folder of their own, which the product never sees, downloaded the first time.
 *
 * @param {import('../../../scripts/setup/progress.mjs').StepOptions} options
 * @returns {Promise<string>} a folder with node_modules
 */
export async function obtainGenerators({ signal, note }) {
  const folder = join(stackFolder('clients'), `generators-${key}`);
  const missing = {
    code: 'NO_GENERATORS',
    message: 'the generators of clients are not to be had from npm',
    remedy: 'look whether the npm registry can be reached',
  };
  return obtainOnce({
    ...{ name: 'generators', limitMs, missing, signal, note },
    find: () => (existsSync(folder) ? folder : undefined),
    download: () => install(folder, { signal, note }),
  });
}

/** @param {string} folder @param {import('../../../scripts/setup/progress.mjs').StepOptions} options */
async function install(folder, { signal, note }) {
  const aside = `${folder}.download`;
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  writeFileSync(
    join(aside, 'package.json'),
    JSON.stringify({ private: true, dependencies: generatorPackages }, null, 2),
  );
  note?.('downloading the generators');
  try {
    await run(...npm(['install', '--no-audit', '--no-fund', '--ignore-scripts']), { cwd: aside, limitMs, signal });
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/**
 * What Python's clients import: Debian's packages, unpacked in a folder, downloaded the first time.
 *
 * @param {import('../../../scripts/setup/progress.mjs').StepOptions} options
 * @returns {Promise<string>} a folder for PYTHONPATH
 */
export function obtainPythonPackages({ signal, note }) {
  const target = join(stackFolder('clients'), `python-${key}`);
  const folder = join(target, 'usr', 'lib', 'python3', 'dist-packages');
  const missing = {
    code: 'NO_PYTHON_PACKAGES',
    message: `${pythonPackages.join(', ')} are not to be had from apt`,
    remedy: 'run this on Debian or Ubuntu',
  };
  return obtainOnce({
    ...{ name: 'python-packages', limitMs, missing, signal, note },
    find: () => (existsSync(folder) ? folder : undefined),
    download: () =>
      unpackPackages({
        ...{ target, shared: false, log: 'python-packages', signal, note },
        resolve: () => Promise.resolve(pythonPackages),
      }),
  });
}

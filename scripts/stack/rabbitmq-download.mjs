import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../setup/setup-error.mjs';
import { newPackages, unpackPackages } from './debian-packages.mjs';

/** What is said when it cannot be had. */
export const noRabbitmq = {
  code: 'NO_RABBITMQ',
  message: 'RabbitMQ is neither installed nor to be had from apt',
  remedy:
    'start a Docker engine, or install RabbitMQ (apt-get install rabbitmq-server), or set RABBITMQ_URLS to a running one',
};

/** @param {string[]} names */
export const brokerPackages = (names) => names.filter((name) => /^(rabbitmq-server$|erlang-)/.test(name));

/** @param {(args: string[]) => Promise<string>} apt */
async function resolvePackages(apt) {
  const install = ['--simulate', 'install', '--no-install-recommends'];
  // As if nothing were installed: half an Erlang on the machine is of no use to a relocated one.
  const all = await apt([...install, '-o', 'Dir::State::status=/dev/null', 'rabbitmq-server']);
  const wanted = brokerPackages(newPackages(all));
  if (!wanted.includes('rabbitmq-server')) throw new SetupError(noRabbitmq.code, noRabbitmq.message, noRabbitmq);
  const erlang = wanted.filter((name) => name !== 'rabbitmq-server');
  const missing = newPackages(await apt([...install, ...erlang]));
  return [...wanted, ...missing.filter((name) => name.startsWith('lib'))];
}

/** Debian's erl knows its place by heart. @param {string} unpacked @param {string} target */
function relocateErlang(unpacked, target) {
  const path = join(unpacked, 'usr/lib/erlang/bin/erl');
  const script = readFileSync(path, 'utf8');
  writeFileSync(path, script.replace(/^(\s*)ROOTDIR="?\/usr\/lib\/erlang"?$/m, `$1ROOTDIR=${target}/usr/lib/erlang`));
}

/**
 * @param {import('../setup/progress.mjs').StepOptions & { target: string, shared: boolean }} options
 */
export function downloadRabbitmq(options) {
  const relocate = (/** @type {string} */ unpacked) => relocateErlang(unpacked, options.target);
  return unpackPackages({ ...options, log: 'rabbitmq-download', resolve: resolvePackages, relocate });
}

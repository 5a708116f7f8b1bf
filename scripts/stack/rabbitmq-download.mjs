import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../setup/error-code.mjs';
import { logTailOf, SetupError } from '../setup/setup-error.mjs';
import { newPackages, unpackPackages } from './debian-packages.mjs';

const rabbitmqRemedy =
  'start a Docker engine, or install RabbitMQ (apt-get install rabbitmq-server), or set RABBITMQ_URLS to a running one';

/** @param {string[]} names */
export const brokerPackages = (names) => names.filter((name) => /^(rabbitmq-server$|erlang-)/.test(name));

/** @param {(args: string[]) => Promise<string>} apt */
async function resolvePackages(apt) {
  const install = ['--simulate', 'install', '--no-install-recommends'];
  // As if nothing were installed: half an Erlang on the machine is of no use to a relocated one.
  const all = await apt([...install, '-o', 'Dir::State::status=/dev/null', 'rabbitmq-server']);
  const wanted = brokerPackages(newPackages(all));
  if (!wanted.includes('rabbitmq-server')) throw noRabbitmq();
  const erlang = wanted.filter((name) => name !== 'rabbitmq-server');
  const missing = newPackages(await apt([...install, ...erlang]));
  return [...wanted, ...missing.filter((name) => name.startsWith('lib'))];
}

/** @param {unknown} [cause] */
export function noRabbitmq(cause) {
  return new SetupError('NO_RABBITMQ', 'RabbitMQ is neither installed nor to be had from apt', {
    remedy: rabbitmqRemedy,
    logTail: logTailOf(cause),
    cause,
  });
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
export async function downloadRabbitmq(options) {
  const { target, signal } = options;
  const relocate = (/** @type {string} */ unpacked) => relocateErlang(unpacked, target);
  try {
    await unpackPackages({ ...options, log: 'rabbitmq-download', resolve: resolvePackages, relocate });
  } catch (error) {
    if (signal?.aborted || codeOf(error) === 'SETUP/NO_RABBITMQ') throw error;
    throw noRabbitmq(error);
  }
}

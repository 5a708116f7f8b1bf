import { SetupError } from '../setup/setup-error.mjs';
import { newPackages, unpackPackages } from './debian-packages.mjs';
import { relocateErlang } from './relocate-erlang.mjs';

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

/**
 * @param {import('../setup/progress.mjs').StepOptions & { target: string, shared: boolean }} options
 */
export function downloadRabbitmq(options) {
  return unpackPackages({ ...options, log: 'rabbitmq-download', resolve: resolvePackages, relocate: relocateErlang });
}

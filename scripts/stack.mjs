// npm run stack -- up|down|status|reset: the private broker and database of this clone.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { main } from './setup/main.mjs';
import { stackDirectory } from './setup/paths.mjs';
import { say, showProgress } from './setup/progress.mjs';
import { SetupError } from './setup/errors.mjs';
import { ensureServers, environmentFor, hasDockerEngine } from './stack/servers.mjs';
import { stopDockerServers } from './stack/docker-stack.mjs';
import { livingState, pin, stopKeeper, unpin } from './stack/keeper-client.mjs';
import { withStackLock } from './stack/private-stack.mjs';
import { serverHome } from './stack/place.mjs';
import { printStatus } from './stack/status.mjs';

const usage = `npm run stack -- COMMAND
  up [--profile plain|plugin|all]  start broker and database and keep them running (default: plain)
  down                             stop them
  status [--json]                  what runs and where; --json shows passwords too
  reset [--all]                    stop them and delete their data; --all: the downloaded programs too
`;

/** @typedef {import('./stack/servers.mjs').ServerName} ServerName */
/** @type {Record<string, ServerName[]>} */
const brokersOf = {
  plain: ['rabbitmq-plain'],
  plugin: ['rabbitmq-plugin'],
  all: ['rabbitmq-plain', 'rabbitmq-plugin'],
};

/** @param {string[]} args @param {AbortSignal} signal */
async function up(args, signal) {
  const profile = args[args.indexOf('--profile') + 1] ?? '';
  const brokers = args.includes('--profile') ? brokersOf[profile] : brokersOf.plain;
  if (!brokers) throw new SetupError('USAGE', `unknown profile "${profile}"`, { remedy: usage });
  const servers = await ensureServers([...brokers, 'postgres'], { signal });
  for (const [name, value] of Object.entries(environmentFor(servers))) {
    process.stdout.write(`export ${name}='${value}'\n`);
  }
  const state = livingState();
  if (!state) return;
  pin(state.keeper);
  say('Running until `npm run stack -- down`. The lines above are for your shell.');
}

/** @param {AbortSignal} signal @param {{ withData?: boolean }} [options] */
async function down(signal, { withData = false } = {}) {
  unpin();
  const hasRun = await showProgress('stopping the private servers', () => stopKeeper({ signal }));
  say(hasRun ? 'Stopped.' : 'No private server was running.');
  if (hasDockerEngine()) await stopDockerServers({ withData, signal });
}

/** @param {string[]} args @param {AbortSignal} signal */
function reset(args, signal) {
  return withStackLock(signal, async () => {
    await down(signal, { withData: true });
    const { home } = serverHome();
    const folders = args.includes('--all') ? [home, stackDirectory] : [join(home, 'data')];
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    say(`Deleted ${folders.join(' and ')}.`);
  });
}

await main(async ({ args: [command, ...rest], signal }) => {
  if (command === 'up') return up(rest, signal);
  if (command === 'down') return down(signal);
  if (command === 'reset') return reset(rest, signal);
  if (command === 'status') return printStatus({ asJson: rest.includes('--json') });
  throw new SetupError('USAGE', command ? `unknown command "${command}"` : 'a command is missing', { remedy: usage });
});

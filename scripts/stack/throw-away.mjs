// One server in the foreground, for a test that restarts or kills it. One JSON line per event on stdout,
// one command per line on stdin. It ends with its owner: when stdin closes, the server is killed.
import { createInterface } from 'node:readline';
import { codeOf } from '../setup/error-code.mjs';
import { logTailOf, messageOf } from '../setup/setup-error.mjs';
import { killServer, startServer, stopServer } from './supervisor.mjs';

/** @param {Record<string, unknown>} event */
export const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

/**
 * @param {import('./supervisor.mjs').ServerSpec} spec
 * @param {{ signal: AbortSignal, access: Record<string, unknown> }} options  `access` is told with every "ready"
 */
export async function serveThrowAway(spec, { signal, access }) {
  /** @type {import('./supervisor.mjs').Server | undefined} */
  let server;
  let isExpected = false;

  const start = async () => {
    if (server && !server.hasExited()) return;
    isExpected = false;
    const started = await startServer(spec, { signal });
    server = started;
    void started.exited.then((how) => !isExpected && tell({ event: 'exited', how }));
  };
  const end = (/** @type {typeof stopServer} */ how) => async () => {
    isExpected = true;
    if (server) await how(server, spec);
  };
  const [stop, kill] = [end(stopServer), end(killServer)];
  /** @type {Record<string, { does: (() => Promise<void>)[], event: string }>} */
  const commands = {
    start: { does: [start], event: 'ready' },
    restart: { does: [stop, start], event: 'ready' },
    stop: { does: [stop], event: 'stopped' },
    kill: { does: [kill], event: 'killed' },
  };
  const obey = async (/** @type {string} */ command) => {
    const known = commands[command];
    if (!known)
      return tell({ event: 'error', command, message: `unknown; one of ${Object.keys(commands).join(', ')}` });
    for (const step of known.does) await step();
    tell({ event: known.event, command, ...(known.event === 'ready' && { ...access, pid: server?.pid }) });
  };

  try {
    await obey('start');
    await obeyLines(obey, signal);
  } finally {
    await kill();
  }
}

/**
 * One after the other, in order, until the input or the patience of our owner ends.
 *
 * @param {(command: string) => Promise<unknown>} obey
 * @param {AbortSignal} signal
 */
export async function obeyLines(obey, signal) {
  const lines = createInterface({ input: process.stdin, signal });
  for await (const line of lines) {
    const command = line.trim();
    if (command === '') continue;
    try {
      await obey(command);
    } catch (error) {
      tell({ event: 'error', command, code: codeOf(error), message: messageOf(error), logTail: logTailOf(error) });
    }
  }
}

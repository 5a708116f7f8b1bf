// node test/brokers/serve-cluster.mjs --series 4.0
// A cluster in the foreground, for a test that kills its nodes. One JSON line per event on stdout; `kill NODE` and
// `start NODE` on stdin. It ends with its owner: when stdin closes, the nodes are killed.
import { createInterface } from 'node:readline';
import { SetupError } from '../../scripts/setup/errors.mjs';
import { main } from '../../scripts/setup/main.mjs';
import { readOptions, serverHome } from '../../scripts/stack/place.mjs';
import { allSeries, obtainSeries } from './series.mjs';
import { startCluster } from './start-nodes.mjs';

const tell = (/** @type {Record<string, unknown>} */ event) => process.stdout.write(`${JSON.stringify(event)}\n`);

await main(async ({ args, signal }) => {
  const wanted = readOptions(args, ['series']).series ?? allSeries[0].name;
  const series = allSeries.find(({ name }) => name === wanted);
  if (!series) throw new SetupError('USAGE', `no series ${wanted}`);
  const { home, user } = serverHome();
  const installation = await obtainSeries(series, { home, shared: Boolean(user), signal });
  const cluster = await startCluster(installation, { signal });
  /** @type {Record<string, (name: string) => Promise<void>>} */
  const commands = { kill: cluster.kill, start: (name) => cluster.start(name) };
  try {
    tell({ event: 'ready', version: installation.version, nodes: cluster.nodes });
    for await (const line of createInterface({ input: process.stdin, signal })) {
      const [command = '', name = ''] = line.trim().split(' ');
      const obey = commands[command];
      if (!obey)
        throw new SetupError('USAGE', `unknown command ${command}; one of ${Object.keys(commands).join(', ')}`);
      await obey(name);
      tell({ event: 'done', command, name });
    }
  } finally {
    await cluster.close();
  }
});

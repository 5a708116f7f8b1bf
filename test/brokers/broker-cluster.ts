import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface ClusterNode {
  /** Short, as the commands take it. */
  readonly name: string;
  /** As the broker names it. */
  readonly node: string;
  readonly url: string;
  readonly managementUrl: string;
}

/** Three brokers that form a cluster, each to be killed and started again; the ports stay the same. */
export interface BrokerCluster {
  readonly version: string;
  readonly nodes: readonly ClusterNode[];
  /** kill -9. */
  kill(name: string): Promise<void>;
  start(name: string): Promise<void>;
  /** Ends it for good and removes its data. */
  close(): Promise<void>;
}

/** Starts a cluster of the given series through scripts/brokers/serve-cluster.mjs (15–40 s). */
export async function startBrokerCluster(series: string): Promise<BrokerCluster> {
  const script = join(__dirname, '../../scripts/brokers/serve-cluster.mjs');
  const child = spawn(process.execPath, [script, '--series', series], { stdio: 'pipe' });
  const exited = once(child, 'exit');
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-4_000)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string> => {
    const { value, done } = (await lines.next()) as IteratorResult<string, undefined>;
    if (done) throw new Error(`the cluster ended: ${stderr}`);
    return value;
  };
  const tell = async (command: string): Promise<void> => {
    child.stdin.write(`${command}\n`);
    await answer();
  };
  const { version, nodes } = JSON.parse(await answer()) as Pick<BrokerCluster, 'version' | 'nodes'>;
  return {
    version,
    nodes,
    kill: (name) => tell(`kill ${name}`),
    start: (name) => tell(`start ${name}`),
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}

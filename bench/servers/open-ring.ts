import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { onServer, urlOf } from '../../test/support/database';
import { createVhostOn } from '../../test/support/rabbit-vhost';
import { type Contestant, type Ring } from '../contestant';
import { type BenchServers } from './open-servers';

/** What a ring is given by the benchmark. */
export type RingSetting = Pick<Ring, 'folder' | 'isShort' | 'profileFolder' | 'signal' | 'say'>;

/** A database and a virtual host for one run. `close` takes both away, and leaves the server without dirty pages. */
export async function openRing(
  servers: BenchServers,
  contestant: Contestant,
  setting: RingSetting,
): Promise<Ring & { close(): Promise<void> }> {
  const broker = contestant.broker === 'plugin' ? servers.plugin : servers.plain;
  if (!broker) throw new Error('no broker with delayed exchange was started');
  const name = `ot_bench_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  await onServer(`CREATE DATABASE ${name}`, servers.databaseUrl);
  const vhost = await createVhostOn(broker);
  return {
    ...setting,
    folder: mkdtempSync(join(setting.folder, 'run-')),
    databaseUrl: urlOf(name, servers.databaseUrl),
    amqpUrl: vhost.url,
    managementUrl: broker.managementUrl,
    brokerFolder: broker.folder,
    close: async () => {
      await vhost.drop();
      await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, servers.databaseUrl);
      // The next one must not pay for this one's pages.
      await onServer('CHECKPOINT', servers.databaseUrl);
    },
  };
}

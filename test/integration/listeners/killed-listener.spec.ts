import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { HangingListener } from './hanging-listener';
import { type ListeningHost, startHost } from './listening-host';

const COMPILE = join(__dirname, '../../support/compile-on-require.js');
const PROCESS = join(__dirname, 'listening-process.ts');

describe('a process that is killed while its listener runs', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost | undefined;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE call (event_id text, attempt int, pid int)');
  });
  afterAll(async () => {
    await host?.app.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  const calls = () =>
    database.dataSource.query<{ event_id: string; attempt: number; pid: number }[]>('SELECT * FROM call');

  it('leaves the event to another process, which calls its listener again', async () => {
    const env = { ...process.env, HANG: '1', DATABASE: database.url, BROKER: vhost.url };
    const child = spawn(process.execPath, ['-r', COMPILE, PROCESS], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const hasEnded = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await hasEnded;
    host = await startHost(database, vhost, [HangingListener, { provide: DataSource, useValue: database.dataSource }]);
    await until(async () => (await calls()).length === 2);
    const [first, second] = await calls();
    expect(second).toEqual({ event_id: first?.event_id, attempt: 1, pid: process.pid });
    expect(first?.pid).toBe(child.pid);
    await until(async () => (await host?.deliveries())?.length === 0);
  });
});

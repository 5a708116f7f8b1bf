import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { SmallDisk } from '../support/servers/small-disk';
import { anOrder, environmentOf, openService, type RunningService } from '../e2e/running-service';
import { type DoctorReport } from '../../src/operations';
import { managementUrl, runJson } from '../support/command-line';
import { createDatabase, onServer, serverUrl, type TestDatabase } from '../support/database';
import { until } from '../support/engine';

/** Asked in a process of its own, because a test file decides at once what it skips. */
function dataDirectory(): string {
  const ask = `const { Client } = require('pg');
    const client = new Client(process.argv[1]);
    client.connect().then(() => client.query('SHOW data_directory')).then(({ rows }) => {
      process.stdout.write(rows[0].data_directory);
      return client.end();
    });`;
  return execFileSync(process.execPath, ['-e', ask, serverUrl()], { encoding: 'utf8', stdio: 'pipe' });
}

// The server has to be on this machine.
const test = SmallDisk.isPossible() && existsSync(dataDirectory()) ? it : it.skip;

describe('the service on a database whose disk is full', () => {
  const tablespace = `small_${process.pid}`;
  let disk: SmallDisk;
  let database: TestDatabase;
  let service: RunningService;

  // Not run when the only test is skipped.
  beforeAll(async () => {
    disk = SmallDisk.mount({ size: '24m', likeOwnerOf: dataDirectory() });
    await onServer(`CREATE TABLESPACE ${tablespace} LOCATION '${disk.path}'`);
    database = await createDatabase();
    for (const what of ['TABLE', 'INDEX']) {
      await database.dataSource.query(`ALTER ${what} ALL IN TABLESPACE pg_default SET TABLESPACE ${tablespace}`);
    }
    service = await openService({}, database);
  });

  afterAll(async () => {
    await service.close();
    await onServer(`DROP TABLESPACE ${tablespace}`);
    disk.unmount();
  });

  test('refuses with 503, is not ready, and goes on by itself, and the doctor names the disk (skipped where nothing can be mounted for the server)', async () => {
    const place = () => service.call('post', '/orders', anOrder({ lines: [], metadata: { note: 'x'.repeat(1_000) } }));
    await place().expect(201);
    await disk.fill();
    // The pages that are there take some more orders.
    await until(async () => (await place()).status !== 201);
    const refused = await place();
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect((await service.call('get', '/health/ready')).status).toBe(503);

    const environment = { ...environmentOf(database.url, service.vhost.url), RABBITMQ_MANAGEMENT_URL: managementUrl() };
    const { code, findings } = await runJson<DoctorReport>(environment, 'doctor');
    expect(code).toBe(2);
    expect(findings.find(({ id }) => id === 'database-disk-full')?.seen).toMatch(/could not extend file|No space left/);

    disk.free();
    await until(async () => (await place()).status === 201);
    await until(async () => (await service.call('get', '/health/ready')).status === 200);
    expect(service.parked).toEqual([]);
  });
});

import { randomUUID } from 'node:crypto';
import { SystemClock, withTimeout } from '../../../src/clock';
import { migrate } from '../../../src/module';
import { connectTo, onServer, urlOf } from '../../support/database';
import { stretched } from '../../support/machine-load';

describe('migrate on a difficult host', () => {
  const name = `ot_migrate_${randomUUID().replaceAll('-', '').slice(0, 12)}`;

  beforeAll(() => onServer(`CREATE DATABASE ${name}`));
  afterAll(() => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));

  it('does not wait for itself when the host allows one connection only', async () => {
    const host = await connectTo(urlOf(name), 1);
    const migrating = migrate(host).then(
      () => 'migrated',
      (error: unknown) => String(error),
    );
    const outcome = await withTimeout(new SystemClock(), stretched(5_000), migrating, 'waits for itself');
    // Ends the one that hangs, or it would keep jest alive.
    if (outcome !== 'migrated') {
      await onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
      await migrating;
    }
    await host.destroy().catch(() => undefined);
    expect(outcome).toBe('migrated');
  });

  it('takes a schema name that is a word of SQL, or says that it cannot', async () => {
    const host = await connectTo(urlOf(name), 2);
    const outcome = await migrate(host, 'order').then(
      () => 'migrated',
      (error: { code?: string }) => error.code,
    );
    await host.destroy();
    expect(['migrated', 'ORDER_TIMEOUT/INVALID_OPTIONS']).toContain(outcome);
  });
});

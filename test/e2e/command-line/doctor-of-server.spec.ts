import { randomUUID } from 'node:crypto';
import { type DoctorReport } from '../../../src/operations';
import { runJson } from '../../support/command-line';
import { createDatabase, onServer, type TestDatabase, urlOf } from '../../support/database';
import { environmentOf } from '../running-service';

describe('the doctor finds, of the database server,', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  /** Without a broker. */
  const examine = (url: string): Promise<DoctorReport> =>
    runJson<DoctorReport>({ ...environmentOf(url, 'amqp://127.0.0.1:1') }, 'doctor');
  const urlAs = (user: string, password: string): string => {
    const url = new URL(database.url);
    [url.username, url.password] = [user, password];
    return url.href;
  };
  const find = (id: string, { findings }: DoctorReport) => findings.find((one) => one.id === id);

  it('13. a refused login, and no connection left', async () => {
    const user = `refused_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right' CONNECTION LIMIT 0`);
    const wrong = find('database-login-refused', await examine(urlAs(user, 'wrong')));
    const none = find('database-login-refused', await examine(urlOf('nothing')));
    const full = find('database-connections', await examine(urlAs(user, 'right')));
    await onServer(`DROP ROLE ${user}`);
    expect(wrong?.seen).toContain(user);
    expect(wrong?.remedy).toContain('Correct the user or password in DATABASE_URL');
    expect(none?.remedy).toContain('Correct the name of the database in DATABASE_URL');
    expect(full?.seen).toContain('too many connections');
    expect(full?.remedy).toContain('DATABASE_POOL_SIZE');
  });

  it('22. that it takes no writes, and tells the statement that ends that', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const user = `writer_${randomUUID().slice(0, 8)}`;
    const url = urlAs(user, 'writer');
    await onServer(`CREATE ROLE ${user} SUPERUSER LOGIN PASSWORD 'writer'`);
    const statements: string[] = [];
    for (const which of [`DATABASE ${name}`, `ROLE ${user}`, `ROLE ${user} IN DATABASE ${name}`]) {
      await onServer(`ALTER ${which} SET default_transaction_read_only = on`);
      const found = find('database-read-only', await examine(url));
      expect(found?.seen).toContain('default_transaction_read_only');
      const [, statement = ''] = /(ALTER [^;]*;)/.exec(found?.remedy ?? '') ?? [];
      statements.push(statement);
      await onServer(statement);
      expect(find('database-read-only', await examine(url))).toBeUndefined();
    }
    await onServer(`DROP ROLE ${user}`);
    expect(new Set(statements).size).toBe(3);
  });
});

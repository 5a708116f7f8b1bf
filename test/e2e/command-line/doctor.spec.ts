import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Channel, connect } from 'amqplib';
import { DataSource } from 'typeorm';
import { type DoctorReport } from '../../../src/operations';
import { OWN_TABLES } from '../../../src/operations/doctor/schema-examination';
import { takePrefix, TopologyNames } from '../../../src/rabbit';
import { OwnBroker } from '../../support/servers/own-broker';
import { managementUrl, runCommand, runJson } from '../../support/command-line';
import { onServer, type TestDatabase } from '../../support/database';
import { startProgram } from '../../support/service-process';
import { until } from '../../support/engine';
import { type TestVhost } from '../../support/rabbit-vhost';
import { environmentOf, openService, PREFIX } from '../running-service';
import { openSilentService } from './silent-service';

type Examined = DoctorReport & { readonly code: number };

/** The statements that the runbook gives in a section. */
function remediesOf(heading: string): string[] {
  const runbook = readFileSync(join(__dirname, '../../../docs/runbook.md'), 'utf8');
  const [, section = ''] = runbook.split(`## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(/```sql\n([^]*?)```/g)].map(([, sql = '']) => sql);
}

const names = new TopologyNames(PREFIX);
const LADDER = `${PREFIX}.delay-b8-u1000-classic`;

describe('order-timeout doctor', () => {
  it('finds nothing while the service runs, says what it saw, and ends with 1 for a warning', async () => {
    const service = await openService();
    const environment = {
      ...environmentOf(service.database.url, service.vhost.url),
      RABBITMQ_MANAGEMENT_URL: managementUrl(),
    };
    const healthy = await runJson<Examined>(environment, 'doctor');
    const people = await runCommand(environment, 'doctor');
    await service.database.dataSource.query(`INSERT INTO order_timeout.timeout
      (kind, key, generation, due_at, next_attempt_at, state) VALUES ('order.payment', 'o-1', 1, now(), now(), 'parked')`);
    const warned = await runJson<Examined>(environment, 'doctor');
    await service.close();
    expect({ code: warned.code, status: warned.status }).toEqual({ code: 1, status: 'warning' });
    expect(healthy).toEqual({ code: 0, status: 'ok', findings: [], unchecked: [], facts: expect.anything() as object });
    expect(Object.keys(healthy.facts)).toEqual(
      expect.arrayContaining(['PostgreSQL', 'broker', 'migrations', 'outbox', 'connections', 'delay transport']),
    );
    expect(people.out).toMatch(/^broker +RabbitMQ \d/m);
    expect(people.out).toContain('0 errors, 0 warnings');
  });

  it('warns that wake-ups wait in the plugin, which is archived', async () => {
    const service = await openSilentService({ DELAY_TRANSPORT: 'auto' }, 'plugin');
    const { code, findings, facts } = await runJson<Examined>(service.environment, 'doctor');
    await service.drop();
    expect(facts['delay transport']).toBe('delayed-exchange');
    expect(findings.map(({ id }) => id)).toContain('delayed-exchange-archived');
    expect(code).toBe(1);
  });
});

describe('the doctor finds', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let environment: Record<string, string>;

  /** A service has declared everything, and has ended. */
  beforeAll(async () => {
    const service = await openSilentService();
    ({ database, vhost } = service);
    environment = { ...service.environment, RABBITMQ_MANAGEMENT_URL: managementUrl() };
    await service.stop();
  });

  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  const examine = (changed: Record<string, string> = {}, ...args: string[]): Promise<Examined> =>
    runJson<Examined>({ ...environment, ...changed }, 'doctor', ...args);

  const sql = (text: string): Promise<unknown> => database.dataSource.query(text);

  /** What was seen by this name, and that it comes with a remedy and the right exit code. */
  async function seen(id: string, report: Examined): Promise<string> {
    const found = report.findings.find((finding) => finding.id === id);
    if (!found) throw new Error(`not found; findings: ${JSON.stringify(report, null, 1)}`);
    expect(found.remedy).not.toBe('');
    expect(report.code).toBe(report.findings.some(({ severity }) => severity === 'error') ? 2 : 1);
    return found.seen;
  }

  async function onBroker(work: (channel: Channel) => Promise<unknown>): Promise<void> {
    const connection = await connect(vhost.url);
    const channel = await connection.createChannel();
    await work(channel);
    // Answered only after what was published before it.
    await channel.close();
    await connection.close();
  }

  const otherLogin = (user: string, password: string): string => {
    const url = new URL(vhost.url);
    [url.username, url.password] = [user, password];
    return url.href;
  };

  describe('on the broker', () => {
    it('1. a broker that is down', async () => {
      const report = await examine({ RABBITMQ_URLS: 'amqp://127.0.0.1:1' });
      expect(await seen('broker-unreachable', report)).toContain('127.0.0.1:1');
      expect(report.unchecked.map(({ what }) => what)).toContain('queues and exchanges');
    });

    it('2. a wrong password, without repeating it', async () => {
      const report = await examine({ RABBITMQ_URLS: otherLogin('somebody', 'wrong-secret') });
      expect(await seen('broker-login-refused', report)).toContain('"somebody"');
      expect(JSON.stringify(report)).not.toContain('wrong-secret');
    });

    it('2. a virtual host that does not exist, with commands that can be pasted', async () => {
      const url = new URL(vhost.url);
      url.pathname = '/gone';
      const { findings } = await examine({ RABBITMQ_URLS: url.href });
      const command = `rabbitmqctl set_permissions -p 'gone' '${decodeURIComponent(url.username)}' '^order-timeout\\.v1\\.'`;
      expect(findings.find(({ id }) => id === 'broker-login-refused')?.remedy).toContain(command);
    });

    it('4. a required plugin that is missing', async () => {
      await seen('delayed-exchange-missing', await examine({ DELAY_TRANSPORT: 'delayed-exchange' }));
    });

    it('4. nothing else with settings that are not those of the instances', async () => {
      const use = (path: string, transport: string) =>
        database.dataSource.query(
          `INSERT INTO order_timeout.engine_setting (name, value) VALUES ('message-path', $1), ('delay-transport', $2)
               ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value`,
          [path, transport],
        );
      await use(`${PREFIX}.delay-b64-u1000/1`, 'ladder');
      const report = await examine();
      const cutOff = await examine({ RABBITMQ_URLS: 'amqp://127.0.0.1:1' });
      await use(`${LADDER}/1`, 'ladder');
      expect(cutOff.findings.map(({ id }) => id)).toEqual(['broker-unreachable', 'other-settings']);
      expect(await seen('other-settings', report)).toBe(
        `The instances hand wake-ups to ${PREFIX}.delay-b64-u1000, and with these settings they would hand them to ${LADDER} or ${PREFIX}.delayed.`,
      );
      expect(report.findings).toHaveLength(1);
    });

    it('4. a plugin that the instances use, and that the broker has lost', async () => {
      const use = (name: string) =>
        database.dataSource.query(`UPDATE order_timeout.engine_setting SET value = $1 WHERE name = 'delay-transport'`, [
          name,
        ]);
      await use('delayed-exchange');
      const report = await examine({ DELAY_TRANSPORT: 'auto' });
      await use('ladder');
      expect(await seen('delayed-exchange-missing', report)).toContain('lost the delayed-message plugin');
      expect(report.findings.map(({ id }) => id)).not.toContain('dead-letters-stall');
    });

    it.each([
      ['of wake-ups', names.workQueue('payment.refund'), 'The sweep handles what was in it.'],
      ['of commands, which nothing sends again', names.commands, 'until it is empty'],
    ])('5. a queue with other arguments: one %s', async (_, queue, remedy) => {
      await onBroker(async (channel) => {
        await channel.deleteQueue(queue);
        await channel.assertQueue(queue, { arguments: { 'x-queue-type': 'classic', 'x-max-length': 10 } });
      });
      const report = await examine();
      expect(await seen('queue-arguments', report)).toContain(queue);
      expect(report.findings.find(({ id }) => id === 'queue-arguments')?.remedy).toContain(remedy);
      await onBroker((channel) => channel.deleteQueue(queue));
    });

    it('6. missing queues, all in one finding', async () => {
      const lost = ['order.late-watch', 'order.reminder'].map((kind) => names.workQueue(kind));
      await onBroker((channel) => Promise.all(lost.map((queue) => channel.deleteQueue(queue))));
      expect(await seen('queue-missing', await examine())).toContain(`${lost[1]}, ${lost[0]}`);
    });

    it('7. a policy that expires every queue', async () => {
      const policy = { pattern: '.*', definition: { expires: 3_600_000 }, 'apply-to': 'queues' };
      await vhost.manage('PUT', `/policies/${vhost.name}/tidy`, policy);
      const applied = async (): Promise<boolean> => {
        const [first] = await vhost.manage<{ policy?: string }[]>('GET', `/queues/${vhost.name}`);
        return first?.policy === 'tidy';
      };
      await until(applied);
      const report = await examine();
      await vhost.manage('DELETE', `/policies/${vhost.name}/tidy`);
      expect(await seen('policy', report)).toContain('"tidy" sets expires');
    });

    it('8. a ladder that lacks an exchange, so that dead letters stall', async () => {
      await onBroker((channel) => channel.deleteExchange(`${LADDER}.delivery`));
      expect(await seen('dead-letters-stall', await examine())).toContain(`${LADDER}.delivery`);
    });

    it('9. a prefix that belongs to another database', async () => {
      const connection = await connect(vhost.url);
      await takePrefix(connection, names, 'another-database');
      await connection.close();
      expect(await seen('prefix-shared', await examine())).toContain('another-database');
    });

    it('10. messages that are parked', async () => {
      await onBroker(async (channel) => channel.publish(names.parked, 'order.paid', Buffer.from('{}')));
      await until(async () => (await examine()).findings.some(({ id }) => id === 'parked-messages'));
      expect(await seen('parked-messages', await examine())).toContain('1 messages');
    });

    it('11. queues that no instance consumes, and events that nobody gets', async () => {
      const report = await examine();
      expect(await seen('queue-without-consumer', report)).toContain(`${names.workQueue('payment.reconciliation')} (`);
      const { remedy } = report.findings.find(({ id }) => id === 'queue-without-consumer') ?? {};
      expect(remedy).toContain('about the database, repair that first');
      expect(await seen('events-without-queue', report)).toContain(names.events);
    });

    it('12. a queue that does not answer, a broker without memory or disk, and ends', async () => {
      const broker = await OwnBroker.open({ profile: 'plain' });
      try {
        const where = { RABBITMQ_URLS: broker.amqpUrl, RABBITMQ_MANAGEMENT_URL: broker.managementUrl };
        const service = await openSilentService(where);
        await service.stop();
        const queue = names.workQueue('order.payment');
        await broker.suspendQueue(queue);
        expect(await seen('queue-silent', await examine(where))).toContain(queue);
        await broker.resumeQueue(queue);
        await broker.fillMemory();
        await broker.fillDisk();
        const alarms = async (): Promise<unknown> => (await examine(where)).findings.map(({ seen: what }) => what);
        await until(async () => JSON.stringify(await alarms()).includes('memory and disk'), 30_000);
        // A process of its own: in this one, nobody would see what keeps it alive.
        const { child, output, exited } = startProgram(['src/cli/main.ts', 'doctor', '--json'], service.environment);
        const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
        const code = await exited;
        clearTimeout(timer);
        await service.drop();
        const report = JSON.parse(output.stdout) as DoctorReport;
        expect(code).toBe(2);
        expect(await seen('broker-alarm', { ...report, code: 2 })).toContain('accepts no messages');
        expect(report.findings[0]?.remedy).toContain('rabbitmq-diagnostics alarms');
      } finally {
        await broker.close();
      }
    });

    it('says what it cannot check without the management API', async () => {
      const { unchecked } = await examine({ RABBITMQ_MANAGEMENT_URL: 'http://127.0.0.1:1' });
      const skipped = unchecked.find(({ what }) => what.startsWith('policies'));
      expect(skipped?.why).toContain('http://127.0.0.1:1 does not answer');
    });
  });

  describe('in the database', () => {
    it('13. a database that does not answer', async () => {
      const report = await examine({ DATABASE_URL: 'postgresql://127.0.0.1:1/nothing' });
      expect(await seen('database-unreachable', report)).toContain('ECONNREFUSED');
    });

    it('14. migrations that are missing', async () => {
      const record = 'order_timeout.order_timeout_migrations';
      await sql(`UPDATE ${record} SET name = 'hidden' WHERE name = 'CreateOrders1763600000400'`);
      const report = await examine();
      await sql(`UPDATE ${record} SET name = 'CreateOrders1763600000400' WHERE name = 'hidden'`);
      expect(await seen('migrations-pending', report)).toContain('CreateOrders1763600000400');
    });

    /** What the doctor finds for a database user who got all rights, and then lost some. */
    async function examineWithout(...statements: string[]): Promise<Examined> {
      const user = `reader_${randomUUID().slice(0, 8)}`;
      await sql(`CREATE ROLE ${user} LOGIN PASSWORD 'reader'`);
      await sql(`GRANT USAGE ON SCHEMA order_timeout TO ${user}`);
      await sql(`GRANT ALL ON ALL TABLES IN SCHEMA order_timeout TO ${user}`);
      await sql(`GRANT ALL ON ALL SEQUENCES IN SCHEMA order_timeout TO ${user}`);
      for (const statement of statements) await sql(`REVOKE ${statement} FROM ${user}`);
      const url = new URL(database.url);
      [url.username, url.password] = [user, 'reader'];
      const report = await examine({ DATABASE_URL: url.href });
      const remedies = report.findings.filter(({ id }) => id === 'database-rights').map(({ remedy }) => remedy);
      for (const remedy of remedies) await sql(remedy.replace('Run as the owner of the tables: ', ''));
      const after = await examine({ DATABASE_URL: url.href });
      await sql(`DROP OWNED BY ${user}`);
      await sql(`DROP ROLE ${user}`);
      expect(after.findings.map(({ id }) => id)).not.toContain('database-rights');
      return report;
    }

    it.each([
      ['INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA order_timeout', 'INSERT on orders'],
      ['UPDATE ON order_timeout.payment_attempt', ' lacks UPDATE on payment_attempt in schema'],
      ['USAGE ON ALL SEQUENCES IN SCHEMA order_timeout', ' lacks USAGE on timeout_generation in schema'],
      ['USAGE ON SCHEMA order_timeout', ' lacks USAGE in schema'],
    ])('15. a database user without %s', async (right, what) => {
      const report = await examineWithout(right);
      expect(await seen('database-rights', report)).toContain(what);
      expect(report.findings.find(({ id }) => id === 'database-rights')?.remedy).toContain('GRANT SELECT, INSERT');
    });

    it('finds nothing about the rights of a user who has them all', async () => {
      expect((await examineWithout()).findings.map(({ id }) => id)).not.toContain('database-rights');
    });

    it.each([
      ['table', 'order_history RENAME TO hidden', 'hidden RENAME TO order_history', 'order_history'],
      ['column', 'timeout RENAME lease TO hidden', 'timeout RENAME hidden TO lease', 'timeout.lease'],
    ])('27. a %s that is gone', async (_, hide, show, what) => {
      await sql(`ALTER TABLE order_timeout.${hide}`);
      const report = await examine();
      await sql(`ALTER TABLE order_timeout.${show}`);
      expect(await seen('tables-missing', report)).toContain(` lacks ${what}, although`);
    });

    it('28. a schema that is not there', async () => {
      expect(await seen('schema-missing', await examine({ DATABASE_SCHEMA: 'elsewhere' }))).toContain('"elsewhere"');
    });

    it('29. a full disk, and writes that are refused for another reason', async () => {
      await sql(`CREATE FUNCTION order_timeout.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = current_setting('test.code'); END $$`);
      await sql(`CREATE TRIGGER refuse BEFORE INSERT ON order_timeout.engine_setting
        EXECUTE FUNCTION order_timeout.refuse()`);
      const name = new URL(database.url).pathname.slice(1);
      await onServer(`ALTER DATABASE ${name} SET test.code = '53100'`);
      const full = await examine();
      await onServer(`ALTER DATABASE ${name} SET test.code = '53200'`);
      const refused = await examine();
      await onServer(`ALTER DATABASE ${name} RESET test.code`);
      await sql('DROP FUNCTION order_timeout.refuse CASCADE');
      expect(await seen('database-disk-full', full)).toContain('ould not extend file');
      expect(await seen('database-refuses-writes', refused)).toContain('ould not extend file');
    });

    it('knows every table, column, and sequence that the migrations create', async () => {
      const rows = await database.dataSource.query<{ name: string; columns: string }[]>(
        `SELECT c.relname AS name, string_agg(a.attname, ' ' ORDER BY a.attnum) AS columns
           FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
          WHERE c.relnamespace = 'order_timeout'::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE '%migrations'
          GROUP BY 1`,
      );
      const tables = Object.entries(OWN_TABLES).map(([name, { columns }]) => [
        name,
        columns.split(' ').sort().join(' '),
      ]);
      const created = rows.map(({ name, columns }) => [name, columns.split(' ').sort().join(' ')]);
      expect(Object.fromEntries(tables)).toEqual({ ...Object.fromEntries(created), timeout_generation: 'last_value' });
    });

    it('16. a transaction that is old', async () => {
      const other = await new DataSource({
        type: 'postgres',
        url: database.url,
        applicationName: 'forgotten',
      }).initialize();
      const runner = other.createQueryRunner();
      await runner.startTransaction();
      await runner.query('SELECT 1 FROM order_timeout.orders');
      const report = await examine({}, '--transaction-age', '1ms');
      await runner.rollbackTransaction();
      await runner.release();
      await other.destroy();
      expect(await seen('old-transaction', report)).toContain('"forgotten"');
    });

    it('17. a pool that is larger than the server', async () => {
      expect(await seen('pool-too-large', await examine({ DATABASE_POOL_SIZE: '1000' }))).toContain('1000');
    });

    it('18. dead rows that nothing removes', async () => {
      await sql(
        `INSERT INTO order_timeout.engine_setting (name, value) SELECT 'dead-' || n, '' FROM generate_series(1, 25000) n`,
      );
      await sql('ALTER TABLE order_timeout.engine_setting SET (autovacuum_enabled = off)');
      await sql(`DELETE FROM order_timeout.engine_setting WHERE name LIKE 'dead-%'`);
      await until(async () => (await examine()).findings.some(({ id }) => id === 'dead-rows'), 30_000);
      expect(await seen('dead-rows', await examine())).toMatch(/engine_setting has 250\d\d dead rows/);
    });

    it('19. timeouts that are parked, and timeouts that nothing handles', async () => {
      await sql(`INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, last_error) VALUES
        ('order.payment', 'o-parked', 1, now(), now(), 'parked', 'a reason'),
        ('order.payment', 'o-late', 2, now() - interval '5 minutes', now() - interval '5 minutes', 'pending', NULL)`);
      const report = await examine();
      expect(await seen('parked-timeouts', report)).toContain('1 timeouts of order.payment');
      expect(await seen('timeouts-overdue', report)).toMatch(/waiting for 3\d\d s/);
    });

    it('20. messages that stay in the outbox, and one that cannot be sent', async () => {
      await sql(`INSERT INTO order_timeout.outbox (id, route, routing_key, body, created_at, parked_reason, available_at) VALUES
        (gen_random_uuid(), 'event', 'order.closed', '{}', now() - interval '10 minutes', NULL, now()),
        (gen_random_uuid(), 'event', 'order.closed', '{}', now(), 'too long', 'infinity')`);
      const report = await examine();
      expect(await seen('outbox-old', report)).toMatch(/for 6\d\d s/);
      expect(await seen('outbox-parked', report)).toContain('1 messages');
    });

    it('23. orders that nothing closes, refunds that nobody asks for, and stock that no order needs', async () => {
      await sql(`INSERT INTO order_timeout.orders (id, merchant_id, amount, currency, expires_at, auto_close, fingerprint)
        VALUES ('o-open', 'm', 1, 'EUR', now(), true, ''), ('o-manual', 'm', 1, 'EUR', now(), false, '')`);
      await sql(`INSERT INTO order_timeout.inventory (sku, on_hand, reserved) VALUES ('pear', 5, 3);
        INSERT INTO order_timeout.reservation (order_id, sku, qty) VALUES ('o-gone', 'pear', 2), ('o-open', 'pear', 1);
        INSERT INTO order_timeout.payment_attempt (provider, reference, order_id, status, amount, currency)
        VALUES ('p', 'r-1', 'o-manual', 'REFUNDING', 1, 'EUR');
        INSERT INTO order_timeout.refund (number, provider, reference, order_id, amount, currency, reason)
        VALUES (repeat('a', 32), 'p', 'r-1', 'o-manual', 1, 'EUR', 'late')`);
      const report = await examine();
      expect(await seen('orders-without-timeout', report)).toMatch(/^1 undecided orders .*o-open/);
      expect(await seen('reservations-without-order', report)).toMatch(/for 1 orders .*o-gone/);
      expect(await seen('refunds-without-timeout', report)).toMatch(/^1 refunds .*aaa/);
      for (const remedy of remediesOf('An order is incomplete')) await sql(remedy);
      expect(await sql(`SELECT reserved FROM order_timeout.inventory WHERE sku = 'pear'`)).toEqual([{ reserved: 1 }]);
      expect((await examine()).findings.filter(({ id }) => /-without-(order|timeout)/.test(id))).toEqual([]);
    });

    it('21. a clock that is wrong', async () => {
      const now = Date.now.bind(Date);
      jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
      const report = await examine();
      jest.restoreAllMocks();
      expect(await seen('clock-difference', report)).toMatch(/by 3[56]\d{5} ms/);
    });
  });
});

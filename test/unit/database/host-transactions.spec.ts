import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPrisma,
  statementsOf,
  ExpectedRollback,
  UnusableTransactionError,
  type Queryable,
} from '../../../src/database';
import { arrayLiteral, atUtc, splitPlaceholders } from '../../../src/database/host-transactions/adapters';
import { explainFailure } from '../../../src/database/host-transactions/explain-failure';
import { HostConnection, plainRow } from '../../../src/database/host-transactions/transaction';
import { oneAtATime } from '../../../src/database/host-transactions/host-call';

describe('a statement for a library that numbers placeholders itself', () => {
  it('is split at its placeholders, in the order of the text', () => {
    expect(splitPlaceholders('SELECT $2, $1', ['a', 'b'])).toEqual({
      parts: ['SELECT ', ', ', ''],
      values: ['b', 'a'],
    });
  });

  it('gives each occurrence of a parameter the cast that one of them has', () => {
    const { parts, values } = splitPlaceholders('WHERE $1 = ANY($2) AND k = ANY($2::text[]) LIMIT $3', ['a', ['b'], 3]);
    expect(parts.join('?')).toBe('WHERE ? = ANY(?::text[]) AND k = ANY(?::text[]) LIMIT ?');
    expect(values).toEqual(['a', ['b'], ['b'], 3]);
  });

  it('tells $1 and $12 apart', () => {
    const parameters = Array.from({ length: 12 }, (_, index) => index + 1);
    expect(splitPlaceholders('$12 $1', parameters).values).toEqual([12, 1]);
  });

  it('may have none', () => {
    expect(splitPlaceholders('SAVEPOINT a', [])).toEqual({ parts: ['SAVEPOINT a'], values: [] });
  });
});

describe('an array for a driver that sends none', () => {
  it('is written as PostgreSQL writes it', () => {
    expect(arrayLiteral(['a', 'b,"c"', '\\d', null, 1, true, ''])).toBe('{"a","b,\\"c\\"","\\\\d",NULL,"1","true",""}');
    expect(arrayLiteral([])).toBe('{}');
    expect(arrayLiteral([new Date(5)])).toBe('{"1970-01-01T00:00:00.005Z"}');
  });
});

describe('a row of any library', () => {
  it.each([
    ['2026-11-22 18:00:00.123456+00', '2026-11-22T18:00:00.123Z'],
    ['2026-11-22 18:00:00+05:30', '2026-11-22T12:30:00.000Z'],
    ['2026-11-22 18:00:00-08', '2026-11-23T02:00:00.000Z'],
    ['2026-11-22T18:00:00.123Z', '2026-11-22T18:00:00.123Z'],
  ])('has the instant %s as a Date', (text, instant) => {
    for (const name of ['now', 'expires_at', 'createdAt'])
      expect(plainRow({ [name]: text })).toEqual({ [name]: new Date(instant) });
  });

  it('has the instants of libraries for dates as Dates, too', () => {
    const moment = { valueOf: () => 1_000 };
    expect(plainRow({ due_at: moment, now: new Date(5), paid_at: null })).toEqual({
      due_at: new Date(1_000),
      now: new Date(5),
      paid_at: null,
    });
  });

  it('has a bigint as text, as pg does, and leaves the rest as it is', () => {
    const json = [{ amount: 1 }];
    const row = { amount: 2n, offsets: [1n, 2n], id: '2026-11-22 18:00:00+00', attempts: json, fits: true };
    expect(plainRow(row)).toEqual({ ...row, amount: '2', offsets: ['1', '2'] });
  });
});

describe('the connection of a host’s transaction', () => {
  const sent: string[] = [];
  const connection = new HostConnection({
    query: async (sql) => {
      sent.push(sql);
      return { rows: [] };
    },
  });

  it.each(['COMMIT', 'ROLLBACK', 'START TRANSACTION', 'begin', 'END', 'PREPARE TRANSACTION $1'])(
    'never sends %s',
    async (sql) => {
      await expect(connection.query(sql)).rejects.toThrow("begin or end the host's transaction");
      expect(sent).not.toContain(sql);
    },
  );

  it.each(['SAVEPOINT a', 'RELEASE SAVEPOINT a', 'ROLLBACK TO SAVEPOINT a', 'SELECT 1'])('sends %s', async (sql) => {
    await connection.query(sql);
    expect(sent).toContain(sql);
  });
});

describe('a failed statement', () => {
  const explained = (error: object) => explainFailure(error) as UnusableTransactionError;
  /** As Prisma nests it. */
  const nested = (originalCode: string) => ({
    code: 'P2010',
    meta: { driverAdapterError: { cause: { originalCode } } },
  });

  it.each([
    ['pg', { code: '25P01' }, 'has ended, or was never begun'],
    ['Drizzle', { cause: { code: '42P01' } }, 'has no tables of this package'],
    ['Prisma', nested('3F000'), 'has no tables of this package'],
  ])('through %s says what is wrong with the transaction', (_library, error, sentence) => {
    expect(explained(error)).toBeInstanceOf(UnusableTransactionError);
    expect(explained(error).message).toContain(sentence);
    expect(explained(error).cause).toBe(error);
  });

  it.each([[{ code: '23505' }], [nested('55P03')], [new Error('reset')], [undefined]])(
    'that has another reason stays as it is (%j)',
    (error) => expect(explainFailure(error)).toBe(error),
  );
});

describe('a transaction of a library that drops the offset of instants', () => {
  const sentAt = async (zone: string, ...statements: string[]): Promise<unknown[]> => {
    const sent: unknown[] = [];
    const query = atUtc(async (sql, parameters) => {
      sent.push(parameters ?? sql);
      return { rows: sql.includes('current_setting') ? [{ zone }] : [] };
    });
    for (const sql of statements) await query(sql);
    return sent.slice(1);
  };

  it('runs each statement at UTC, and then has its own time zone again', async () => {
    const sent = await sentAt('Asia/Shanghai', 'SELECT 1', 'SELECT 2');
    expect(sent).toEqual([['UTC'], 'SELECT 1', ['Asia/Shanghai'], ['UTC'], 'SELECT 2', ['Asia/Shanghai']]);
  });

  it.each(['UTC', 'Etc/UTC', 'GMT'])('stays as it is at %s', async (zone) => {
    expect(await sentAt(zone, 'SELECT 1')).toEqual(['SELECT 1']);
  });

  it('does not change the time zone for a savepoint, which brings it back', async () => {
    const savepoints = ['SAVEPOINT a', 'ROLLBACK TO SAVEPOINT a', 'RELEASE SAVEPOINT a'];
    expect(await sentAt('Asia/Shanghai', 'SELECT 1', ...savepoints)).toEqual([
      ['UTC'],
      'SELECT 1',
      ['Asia/Shanghai'],
      ...savepoints,
    ]);
  });
});

describe('calls in one transaction', () => {
  const sql = Object.assign(() => ({}), { param: (value: unknown) => value });
  const drizzle = { execute: async () => [], rollback: () => undefined };

  it('run one after the other, and those that wait behind one that fails are refused', async () => {
    const log: string[] = [];
    const call = (name: string) => async (): Promise<void> => {
      log.push(`${name} starts`);
      await Promise.resolve();
      log.push(`${name} ends`);
      if (name === 'a') throw new Error(name);
    };
    const run = (name: string) => oneAtATime(fromDrizzle(drizzle, sql), call(name));
    const together = await Promise.allSettled(['b', 'a', 'c', 'd'].map(run));
    expect(together.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
    await run('e');
    expect(log).toEqual(['b starts', 'b ends', 'a starts', 'a ends', 'e starts', 'e ends']);
  });

  it('run if the one before has only rolled back what it wrote', async () => {
    class Refused extends ExpectedRollback {}
    const calls = [() => Promise.reject(new Refused()), async () => 'done'].map((work) => oneAtATime(sql, work));
    expect(await Promise.allSettled(calls)).toMatchObject([{ status: 'rejected' }, { value: 'done' }]);
  });

  it('of a listener wait for each other, too', async () => {
    const log: string[] = [];
    const inner = (name: string) => async (): Promise<void> => {
      log.push(name);
      await Promise.resolve();
      log.push(name);
    };
    await oneAtATime(sql, () => Promise.all(['a', 'b'].map((name) => oneAtATime(sql, inner(name)))));
    expect(log).toEqual(['a', 'a', 'b', 'b']);
  });

  it('do not wait for those in another one', async () => {
    let release = (): void => undefined;
    const held = oneAtATime({}, () => new Promise<void>((resolve) => (release = resolve)));
    expect(await oneAtATime({}, async () => 'done')).toBe('done');
    release();
    await held;
  });

  it('do not wait for the call that makes them', async () => {
    const tx = {};
    expect(await oneAtATime(tx, () => oneAtATime(tx, async () => 'inner'))).toBe('inner');
  });
});

describe('what is passed as a transaction', () => {
  const method = (): Promise<never> => Promise.reject(new Error('must not be called'));
  const refused =
    (tx: object): (() => unknown) =>
    () =>
      statementsOf(tx as Queryable);

  it.each([
    ['$queryRawUnsafe', 'fromPrisma(tx)'],
    ['executeQuery', 'fromKysely(trx)'],
    ['getTransactionContext', 'fromMikroOrm(em)'],
    ['raw', 'fromKnex(trx)'],
    ['execute', 'fromDrizzle(tx, sql)'],
    ['somethingElse', 'a client of pg'],
  ])('is refused if it has %s, with what to pass instead', (name, remedy) => {
    expect(refused({ [name]: method })).toThrow(UnusableTransactionError);
    expect(refused({ [name]: method })).toThrow(remedy);
  });

  it('is refused if its statements take any connection', () => {
    expect(refused({ query: method, totalCount: 3 })).toThrow('pool.connect()');
    expect(refused({ query: method, getRepository: method, createQueryRunner: method })).toThrow('is a DataSource');
    expect(refused({ query: method, manager: {} })).toThrow('pass queryRunner.manager');
  });

  it('is refused if it is no object', () => {
    for (const tx of [5, 'tx', true]) expect(refused(tx as never)).toThrow(UnusableTransactionError);
  });

  it.each([
    ['Prisma', () => fromPrisma({ $queryRawUnsafe: method, $connect: method } as never)],
    ['Kysely', () => fromKysely({ isTransaction: false, withoutPlugins: () => ({ executeQuery: method }) })],
    ['Knex', () => fromKnex({ raw: method })],
    ['Drizzle', () => fromDrizzle({ execute: method }, Object.assign(method, { param: method }))],
    ['MikroORM', () => fromMikroOrm({ getTransactionContext: () => undefined })],
  ])('is refused if it is an object of %s outside of a transaction', (library, adapt) => {
    expect(adapt).toThrow(`this object of ${library} is in no transaction`);
  });

  it('may be MikroORM on Knex, as up to version 6, and on Kysely, as since version 7', async () => {
    const onKnex = { isTransaction: true, raw: async () => ({ rows: ['knex'] }) };
    const executeQuery = async () => ({ rows: ['kysely'] });
    const onKysely = { isTransaction: true, withoutPlugins: () => ({ executeQuery }) };
    const rowsOf = async (context: object) =>
      (await fromMikroOrm({ getTransactionContext: () => context }).query('x')).rows;
    expect([await rowsOf(onKnex), await rowsOf(onKysely)]).toEqual([['knex'], ['kysely']]);
  });

  it('gets instants through Drizzle as text, as not all of its drivers send a Date', async () => {
    const sent: unknown[] = [];
    const param = (value: unknown): unknown => (sent.push(value), value);
    const tx = { execute: async () => [], rollback: () => undefined };
    await fromDrizzle(
      tx,
      Object.assign(() => ({}), { param }),
    ).query('SELECT $1, $2, $3', [new Date(0), [1], 'text']);
    expect(sent).toEqual(['1970-01-01T00:00:00.000Z', '{"1"}', 'text']);
  });

  it('gets question marks of the text through Knex as they are', async () => {
    const asked: unknown[] = [];
    const raw = async (...given: unknown[]) => {
      asked.push(given);
      return { rows: [] };
    };
    await fromKnex({ isTransaction: true, raw }).query(`SELECT '?' = $1`, ['?']);
    expect(asked).toEqual([[`SELECT '\\?' = ?`, ['?']]]);
  });
});

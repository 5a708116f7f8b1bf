import { randomUUID } from 'node:crypto';
import { type DataSource } from 'typeorm';
import { orderTimeoutMigrations } from '../../../src/module';
import { compatibleSince, nameOf } from '../../../src/database/migrations';
import { connectTo, onServer, urlOf } from '../../support/database';
import { findBreaks, readCatalog, type SchemaCatalog } from '../../support/schema-catalog';

const CHANGES: [what: string, sql: string, breaks: string[]][] = [
  ['adds a column that may be null', 'ALTER TABLE s.t ADD COLUMN x text', []],
  ['adds a column with a default', 'ALTER TABLE s.t ADD COLUMN x int NOT NULL DEFAULT 0', []],
  ['adds a limited column', 'ALTER TABLE s.t ADD COLUMN x int CHECK (x > 0)', []],
  ['adds a table', 'CREATE TABLE s.u (id int PRIMARY KEY, t int NOT NULL REFERENCES s.t)', []],
  ['adds an index', 'CREATE INDEX t_word ON s.t (word)', []],
  [
    'lets a column hold more words',
    `ALTER TABLE s.t DROP CONSTRAINT t_word_check, ADD CONSTRAINT t_word_check CHECK (word IN ('a', 'c', 'b'))`,
    [],
  ],
  [
    'lets a column hold more words without reading the table',
    `ALTER TABLE s.t DROP CONSTRAINT t_word_check, ADD CONSTRAINT t_word_check CHECK (word IN ('a', 'c', 'b')) NOT VALID`,
    [],
  ],
  [
    'lets a column hold fewer words',
    `ALTER TABLE s.t DROP CONSTRAINT t_word_check, ADD CONSTRAINT t_word_check CHECK (word IN ('a', 'c'))`,
    ['t: t_word_check is another one'],
  ],
  ['drops a table', 'DROP TABLE s.t', ['r t is gone', 'S t_id_seq is gone', 'i t_number is gone']],
  ['drops a column', 'ALTER TABLE s.t DROP COLUMN number', ['i t_number is gone', 'column t.number is gone']],
  ['renames a column', 'ALTER TABLE s.t RENAME note TO remark', ['column t.note is gone']],
  ['changes a type', 'ALTER TABLE s.t ALTER number TYPE bigint', ['column t.number was integer and is bigint']],
  ['demands a value', 'ALTER TABLE s.t ALTER note SET NOT NULL', ['column t.note may not be left out any more']],
  ['demands a new value', 'ALTER TABLE s.t ADD COLUMN x int NOT NULL', ['the new column t.x has no default']],
  ['takes a default away', 'ALTER TABLE s.t ALTER id DROP DEFAULT', ['column t.id may not be left out any more']],
  ['limits a column', 'ALTER TABLE s.t ADD CONSTRAINT few CHECK (number < 9)', ['t: few is new']],
  ['makes a column unique', 'CREATE UNIQUE INDEX one ON s.t (note)', ['t: one is new']],
  ['drops a key', 'ALTER TABLE s.t DROP CONSTRAINT t_pkey', ['t: t_pkey is gone']],
  ['renames a table', 'ALTER TABLE s.t RENAME TO u', ['r t is gone']],
  [
    'renames a table and leaves a view of it',
    'ALTER TABLE s.t RENAME TO u; CREATE VIEW s.t AS SELECT *, ctid FROM s.u',
    [],
  ],
  [
    'leaves a view without a column',
    'ALTER TABLE s.t RENAME TO u; CREATE VIEW s.t AS SELECT id, number, word FROM s.u',
    ['column t.note is gone'],
  ],
  [
    'leaves a view that takes no rows',
    'ALTER TABLE s.t RENAME TO u; CREATE VIEW s.t AS SELECT DISTINCT * FROM s.u',
    ['r t is gone'],
  ],
  [
    'limits a renamed column',
    'ALTER TABLE s.t RENAME TO u; CREATE VIEW s.t AS SELECT * FROM s.u; ALTER TABLE s.u ADD CONSTRAINT few CHECK (number < 9)',
    ['t: few is new'],
  ],
  ['drops an index', 'DROP INDEX s.t_number', ['i t_number is gone']],
];

/**
 * What only looks like a break. The former key said that an attempt has one refund. The number of a refund says so too: the
 * previous release makes it from the same columns, and makes none for an excess. A check that allows longer references refuses
 * none of those that it writes.
 */
const HARMLESS = [
  'RefundExcess1766000002500: refund: refund_attempt_key is gone',
  'RefundExcess1766000002500: refund: refund_attempt_part is new',
  'WidenReferences1766000002800: payment_attempt: payment_attempt_reference_check is another one',
];

describe('a migration that says since which release it is compatible', () => {
  const database = `ot_compatible_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  let dataSource: DataSource;

  beforeAll(async () => {
    await onServer(`CREATE DATABASE ${database}`);
    dataSource = await connectTo(urlOf(database), 2);
  });

  afterAll(async () => {
    await dataSource.destroy();
    await onServer(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  });

  it('leaves everything as it is that such a release leans on', async () => {
    const catalogs = new Map<string, SchemaCatalog>();
    const breaks: string[] = [];
    const runner = dataSource.createQueryRunner();
    await runner.query('CREATE SCHEMA ours');
    for (const migration of orderTimeoutMigrations('ours')) {
      const name = nameOf(migration);
      const before = catalogs.get(compatibleSince(name) ?? '');
      await new migration().up(runner);
      catalogs.set(name, await readCatalog(dataSource, 'ours'));
      const found = before ? findBreaks(before, await readCatalog(dataSource, 'ours')) : [];
      // Those of the migrations before are still there.
      const isNew = (one: string): boolean => !breaks.some((known) => known.endsWith(`: ${one}`));
      breaks.push(...found.filter(isNew).map((one) => `${name}: ${one}`));
    }
    await runner.release();
    expect(catalogs.size).toBeGreaterThan(8);
    expect(breaks).toEqual(HARMLESS);
  });

  it.each(CHANGES)('is looked at for what it does when it %s', async (_, sql, breaks) => {
    await dataSource.query(`
      DROP SCHEMA IF EXISTS s CASCADE;
      CREATE SCHEMA s;
      CREATE TABLE s.t (id serial PRIMARY KEY, number int NOT NULL, note text, word text CHECK (word IN ('a', 'b')));
      CREATE INDEX t_number ON s.t (number)`);
    const before = await readCatalog(dataSource, 's');
    await dataSource.query(sql);
    const after = await readCatalog(dataSource, 's');
    expect(findBreaks(before, after)).toEqual(expect.arrayContaining(breaks));
    expect(findBreaks(before, after).length > 0).toBe(breaks.length > 0);
  });
});
